# shellcheck shell=bash
# Java and Kafka's jars: found, fetched once into a cache that all checkouts share, and started. Sourced by broker.
# shellcheck disable=SC2034 # some variables are broker's

KAFKA_VERSION=${KABI_KAFKA_VERSION:-4.4.0}
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/kafkabi/kafka-$KAFKA_VERSION
LIBS=$CACHE/libs
HEAP=${KABI_KAFKA_HEAP:-256m}
NO_JAVA=77 # exit code: this machine has no Java that runs Kafka

# Sets JAVA and JAVA_RELEASE to a Java that is new enough, or leaves with NO_JAVA; in CI that is an ordinary failure.
find_java() {
  local candidate
  for candidate in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java /usr/lib/jvm/*/bin/java; do
    command -v "$candidate" >/dev/null || continue
    JAVA_RELEASE=$("$candidate" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    if ((${JAVA_RELEASE:-0} >= 17)); then JAVA=$candidate && return 0; fi
  done
  say "broker: A REAL KAFKA NEEDS JAVA 17 OR NEWER, and there is none here: run scripts/setup --tests, or set JAVA_HOME" >&2
  if [[ ${CI:-} == true ]]; then exit 1; fi
  exit "$NO_JAVA"
}

# Runs a function while holding the cache, so that checkouts that start together don't fetch or build twice.
in_cache() {
  mkdir -p "$CACHE"
  (flock 9 && "$@") 9>"$CACHE/lock"
}

fetch_jars() {
  local fresh=$CACHE/libs.$$
  [[ ! -d $LIBS ]] || return 0
  command -v mvn >/dev/null || die "Maven is missing, which fetches Kafka's jars: run scripts/setup --tests"
  say "fetching Kafka $KAFKA_VERSION from Maven Central (54 MB, once)" >&2
  rm -rf "$CACHE"/libs.*
  mvn -B -q -f "$HERE/pom.xml" -Dkafka.version="$KAFKA_VERSION" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$fresh" >"$CACHE/fetch.log" 2>&1 </dev/null ||
    { tail -n 20 "$CACHE/fetch.log" >&2 && die "Maven could not fetch Kafka's jars"; }
  mv "$fresh" "$LIBS"
}

# A class-data archive takes three seconds from each start of a node.
archive() { printf '%s' "$CACHE/java-$JAVA_RELEASE.jsa"; }

make_archive() {
  local fresh
  fresh=$(archive).$$
  [[ ! -e $(archive) ]] || return 0
  say "preparing Kafka's classes for a fast start (once)" >&2
  DATA=$(mktemp -d "$CACHE/archive.XXXXXX")
  PROFILE=single
  JVM_EXTRA=-XX:ArchiveClassesAtExit=$fresh
  choose_ports
  prepare_nodes
  start_node 1
  wait_node 1 && stop_node 1 TERM
  stop_node 1 KILL
  rm -rf "$DATA"
  [[ -e $fresh ]] && mv "$fresh" "$(archive)"
}

# Everything that starting a node needs.
prepare_java() {
  find_java
  in_cache fetch_jars
  in_cache make_archive || say "broker: no class-data archive; nodes start slower" >&2
}

# Sets JVM to the command line of a Java program of Kafka's.
java_command() { # HEAP LOGGING
  JVM=("$JAVA" "-Xmx$1" -XX:+UseSerialGC -Xshare:auto "-Dlog4j2.configurationFile=file:$HERE/$2" -cp "$LIBS/*")
  if [[ -e $(archive) ]]; then JVM+=("-XX:SharedArchiveFile=$(archive)" -Xlog:cds=off -Xlog:cds+dynamic=off); fi
}

# tool CLASS ARGUMENT...: one of Kafka's own commands
tool() {
  java_command 256m tool-log.properties
  "${JVM[@]}" -XX:TieredStopAtLevel=1 "$@"
}

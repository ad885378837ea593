# shellcheck shell=bash
# What the scripts of this folder share; each sources it first. Nothing here installs anything.
# shellcheck disable=SC2034 # some variables are for the scripts only

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TARGET=$ROOT/target
STAGE=$TARGET/stage # where scripts/build installs for the examples and tests
export CARGO_TARGET_DIR=$TARGET

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-} != dumb ]]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
  BOLD='' DIM='' RED='' GREEN='' PLAIN=''
fi
export BOLD DIM RED GREEN PLAIN

say() { printf '%s\n' "$*"; }

die() {
  printf '%s%s:%s %s\n' "$RED" "${0##*/}" "$PLAIN" "$*" >&2
  exit 1
}

# The value of a key of Cargo.toml's [package], or of rust-toolchain.toml.
package_value() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" "$ROOT/Cargo.toml" | head -n 1; }
pinned_toolchain() { sed -n 's/^channel = "\(.*\)"/\1/p' "$ROOT/rust-toolchain.toml"; }

# version_at_least 1.95.0 1.85
version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# The version of the cargo in a folder; fails if there is none that works here (rustup's may lack the toolchain).
cargo_version_in() {
  [[ -x $1/cargo && -x $1/rustc ]] || return 1
  (cd "$ROOT" && RUSTUP_AUTO_INSTALL=0 "$1/cargo" --version 2>/dev/null) | cut -d ' ' -f 2 | grep .
}

# Puts the first cargo that is new enough first on PATH; fails if there is none.
use_cargo() {
  local wanted folder version
  wanted=$(package_value rust-version)
  while read -r folder; do
    version=$(cargo_version_in "$folder") || continue
    version_at_least "$version" "$wanted" || continue
    PATH=$folder:$PATH
    return 0
  done < <(printf '%s\n' "${PATH//:/$'\n'}" "${CARGO_HOME:-$HOME/.cargo}/bin" /usr/bin /usr/local/bin)
  return 1
}

# Runs a command with its output in a log, and shows that it is alive: on a terminal by a line that changes each
# second, else by a line every PROGRESS_SECONDS. The function named by activity prints what is being done, given the log.
# with_progress LABEL ACTIVITY LOG COMMAND...
with_progress() {
  local label=$1 activity=$2 log=$3 began=$SECONDS shown=0 every=${PROGRESS_SECONDS:-10} pid status=0
  shift 3
  if [[ -t 1 ]]; then every=1; fi
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM # the command would outlive this script
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    if ((SECONDS - began >= shown + every)); then
      shown=$((SECONDS - began))
      show_progress "$label  $DIM$shown s  $("$activity" "$log")$PLAIN"
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if [[ -t 1 ]]; then printf '\r\e[K'; fi
  return "$status"
}

show_progress() { if [[ -t 1 ]]; then printf '\r\e[K%s' "$1"; else say "$1"; fi; }

# What cargo is at, from its log; librdkafka's build script is silent for a minute, so its object files are counted.
cargo_activity() {
  local log=$1 last folder objects
  last=$(tr '\r' '\n' <"$log" | grep -E '^ +[A-Z][a-z]+' | tail -n 1 | sed 's/^ *//' | cut -c 1-44) || true
  # shellcheck disable=SC2012 # the newest folder; cargo's names have no odd characters
  folder=$(ls -td "$TARGET"/release/build/rdkafka-sys-*/out/src 2>/dev/null | head -n 1) || true
  if [[ -n $folder && ! -e $folder/librdkafka.a ]]; then
    objects=$(find "$folder" -name '*.o' | wc -l)
    last="compiling librdkafka: $objects of about 90 files"
  fi
  printf '%s' "$last"
}

# Builds the library if it is not fresh. Arguments go to cargo.
build_library() {
  local log=$TARGET/build.log began=$SECONDS
  use_cargo || die "there is no cargo of $(package_value rust-version) or newer; run scripts/setup"
  cd "$ROOT" || exit
  if ! with_progress "building kafkabi" cargo_activity "$log" cargo build --release --locked "$@"; then
    tail -n 40 "$log" >&2
    die "the build failed; the whole output is in $log"
  fi
  if ((SECONDS - began >= 2)); then say "built kafkabi in $((SECONDS - began)) s"; fi
}

# ---- for scripts that test: check runs a command and counts it, end_checks says the sum ----

PASSED=0
FAILED=0

# check WHAT COMMAND...: in a subshell, where set -e is off: a function must pass on each failure itself.
check() {
  local what=$1 output
  shift
  if output=$("$@" 2>&1); then
    PASSED=$((PASSED + 1))
    say "ok      $what"
  else
    FAILED=$((FAILED + 1))
    say "FAILED  $what"
    if [[ -n $output ]]; then say "        ${output//$'\n'/$'\n'        }"; fi
  fi
}

end_checks() {
  say "$PASSED passed, $FAILED failed"
  ((FAILED == 0 && PASSED > 0))
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# start_cluster SECONDS COMMAND...: runs an example that says on its first line where its brokers are and ends with its input.
# Sets BOOTSTRAP. TEMP is the script's folder for such things.
start_cluster() {
  local seconds=$1
  shift
  rm -f "$TEMP/hold" "$TEMP/bootstrap"
  mkfifo "$TEMP/hold"
  "$@" <"$TEMP/hold" >"$TEMP/bootstrap" &
  CLUSTER=$!
  exec {HOLD}>"$TEMP/hold" # the cluster ends when this is closed
  wait_for "$seconds" test -s "$TEMP/bootstrap"
  BOOTSTRAP=$(<"$TEMP/bootstrap")
}

# Ends it and returns its exit code; does nothing without one.
stop_cluster() {
  local cluster=${CLUSTER:-}
  [[ -n $cluster ]] || return 0
  CLUSTER=''
  exec {HOLD}>&-
  wait "$cluster"
}

# ---- JDKs ----

# The release of a Java compiler, such as 17; 0 for what is none.
javac_release() {
  local release
  release=$("$1" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p' | head -n 1) || true
  printf '%s' "${release:-0}"
}

# Whether Maven and a JDK 17 or newer are on the PATH.
have_java() { command -v mvn >/dev/null && (($(javac_release javac) >= 17)); }

# Maven, without the resets of a terminal's colours that it ends by, whatever it is told about colours.
plain_maven() { mvn -Dstyle.color=never "$@" 2>&1 | sed $'s/\e\\[0m//g'; }

# The folder of a JDK that has the Foreign Function API, or nothing.
new_jdk() {
  local folder
  for folder in ${KAFKABI_JDK22:+"$KAFKABI_JDK22"} /usr/lib/jvm/*/; do
    if (($(javac_release "$folder/bin/javac") >= 22)); then printf '%s' "${folder%/}" && return; fi
  done
}

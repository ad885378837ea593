# Real brokers for tests, started when they are first needed; sourced after common.sh. Who sources this has stop_started called at
# the end (trap stop_started EXIT).
# shellcheck shell=bash

BROKER=$ROOT/tests/kafka/broker
NO_JAVA=77 # how the broker's script, and who can't do without it, end where no Java is to be had
STARTED=() READY=()

# Starts a profile's brokers once, and exports where they are (KABI_KAFKA_*). Brokers that run already are used and left alone.
need_profile() {
  local profile=$1 status=0
  [[ " ${READY[*]} " != *" $profile "* ]] || return 0
  if ! "$BROKER" status "$profile" | grep -q ': runs'; then
    STARTED+=("$profile")
    "$BROKER" wipe "$profile"
  fi
  "$BROKER" start "$profile" || status=$?
  if ((status == NO_JAVA)); then exit "$NO_JAVA"; fi
  ((status == 0)) || die "the brokers of profile $profile do not start"
  eval "$("$BROKER" env "$profile")"
  READY+=("$profile")
}

stop_started() {
  local profile
  for profile in "${STARTED[@]}"; do "$BROKER" wipe "$profile"; done
  STARTED=() READY=()
}

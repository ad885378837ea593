# shellcheck shell=bash
# The configurations of the profiles: single, secure and three. Sourced by broker.
# shellcheck disable=SC2034 # the lists of listeners are read by name

declare -A NODES=([single]=1 [secure]=1 [three]="1 2 3")

# The listeners of a node, with the security protocol of each; each has a port of its own.
LISTENERS_single=(PLAINTEXT:PLAINTEXT CONTROLLER:PLAINTEXT)
LISTENERS_three=("${LISTENERS_single[@]}")
LISTENERS_secure=(SASL_SSL:SASL_SSL SASL_PLAINTEXT:SASL_PLAINTEXT SSL:SSL WRONG_HOST:SSL EXPIRED:SSL UNTRUSTED:SSL
  CONTROLLER:SASL_PLAINTEXT)

PLAIN=org.apache.kafka.common.security.plain.PlainLoginModule
SCRAM=org.apache.kafka.common.security.scram.ScramLoginModule
BEARER=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule
USERS=(alice bob carol dave erin) # each may do all that is named NAME-...

# The directory id of a controller: 16 bytes in URL-safe base64.
directory_id() { printf '%sAAAAAAAAAAAAAAAAAAAAQ' "$1"; }

listeners() {
  local -n listed=LISTENERS_$PROFILE
  printf '%s\n' "${listed[@]}"
}

# controllers FORMAT: HOST:PORT of each, or as the quorum's voters
controllers() {
  local node line=''
  for node in ${NODES[$PROFILE]}; do
    if [[ $1 == voters ]]; then line+=",$node@127.0.0.1:$(port "$node" CONTROLLER):$(directory_id "$node")"; fi
    if [[ $1 == addresses ]]; then line+=",127.0.0.1:$(port "$node" CONTROLLER)"; fi
  done
  printf '%s' "${line#,}"
}

server_properties() { # NODE
  local node=$1 replicas isr name protocol listed='' map=''
  if [[ $PROFILE == three ]]; then replicas=3 isr=2; else replicas=1 isr=1; fi
  while IFS=: read -r name protocol; do
    listed+=",$name://127.0.0.1:$(port "$node" "$name")"
    map+=",$name:$protocol"
  done < <(listeners)
  cat <<P
process.roles=broker,controller
node.id=$node
broker.rack=rack$node
controller.quorum.bootstrap.servers=$(controllers addresses)
listeners=${listed#,}
advertised.listeners=${listed#,}
listener.security.protocol.map=${map#,}
controller.listener.names=CONTROLLER
log.dirs=$DATA/$node/data
num.partitions=1
default.replication.factor=$replicas
min.insync.replicas=$isr
offsets.topic.replication.factor=$replicas
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$isr
share.coordinator.state.topic.replication.factor=$replicas
share.coordinator.state.topic.min.isr=$isr
# Few partitions, so that coordinators are there at once.
offsets.topic.num.partitions=8
transaction.state.log.num.partitions=8
share.coordinator.state.topic.num.partitions=8
# Small and quick: no delay for a first group, sessions that may end within seconds, moves of leaders only when asked for.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
auto.leader.rebalance.enable=false
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=2
P
  if [[ $PROFILE == secure ]]; then security_properties; fi
}

security_properties() {
  local plain="$PLAIN required user_admin=\"admin-secret\" user_alice=\"alice-secret\"" name
  cat <<P
inter.broker.listener.name=SASL_SSL
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.controller.plain.sasl.jaas.config=$plain username="admin" password="admin-secret";
listener.name.sasl_ssl.plain.sasl.jaas.config=$plain username="admin" password="admin-secret";
listener.name.sasl_plaintext.plain.sasl.jaas.config=$plain;
P
  for name in sasl_ssl sasl_plaintext; do
    cat <<P
listener.name.$name.scram-sha-256.sasl.jaas.config=$SCRAM required;
listener.name.$name.scram-sha-512.sasl.jaas.config=$SCRAM required;
listener.name.$name.oauthbearer.sasl.jaas.config=$BEARER required unsecuredLoginStringClaim_sub="admin";
P
  done
  cat <<P
ssl.keystore.type=PEM
ssl.keystore.location=$DATA/tls/server-store.pem
ssl.truststore.type=PEM
ssl.truststore.location=$DATA/tls/ca.pem
listener.name.ssl.ssl.client.auth=required
listener.name.wrong_host.ssl.keystore.location=$DATA/tls/wrong-host-store.pem
listener.name.expired.ssl.keystore.location=$DATA/tls/expired-store.pem
listener.name.untrusted.ssl.keystore.location=$DATA/tls/untrusted-store.pem
ssl.principal.mapping.rules=RULE:^CN=([^,]+).*\$/\$1/,DEFAULT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
allow.everyone.if.no.acl.found=false
P
}

# What Kafka's own commands need to reach the profile as one who may do everything.
admin_properties() {
  [[ $PROFILE == secure ]] || return 0
  cat <<P
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=$PLAIN required username="admin" password="admin-secret";
ssl.truststore.type=PEM
ssl.truststore.location=$DATA/tls/ca.pem
P
}

# Arguments of StorageTool beyond those of every node.
format_arguments() {
  case $PROFILE in
    three) printf '%s\n' --initial-controllers "$(controllers voters)" ;;
    secure) printf '%s\n' --standalone --add-scram 'SCRAM-SHA-256=[name=bob,password=bob-secret]' \
      --add-scram 'SCRAM-SHA-512=[name=carol,password=carol-secret]' ;;
    single) printf '%s\n' --standalone ;;
  esac
}

# The rights of the users, given once, when the node has started.
grant_rights() {
  local user jobs=()
  for user in "${USERS[@]}"; do
    tool org.apache.kafka.tools.AclCommand --bootstrap-server "$(address)" --command-config "$DATA/admin.properties" \
      --add --allow-principal "User:$user" --operation All --topic "$user-" --group "$user-" \
      --transactional-id "$user-" --resource-pattern-type prefixed >"$DATA/acl-$user.log" 2>&1 &
    jobs+=($!)
  done
  for user in "${jobs[@]}"; do wait "$user" || die "the rights could not be granted: see $DATA/acl-*.log"; done
}

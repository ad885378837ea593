package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.kafkabi.errors.ClusterAuthorizationException;
import org.kafkabi.errors.DuplicateResourceException;
import org.kafkabi.errors.ResourceNotFoundException;

/** Access control and users of a real broker: profile "secure" of tests/kafka/broker. */
@Timeout(240)
@EnabledIfEnvironmentVariable(named = SecureAdminTest.BROKER, matches = ".+")
class SecureAdminTest {
    static final String BROKER = "KABI_KAFKA_SASL_PLAINTEXT";

    static Config config(String user, String mechanism, String password) {
        return Config.of(System.getenv(BROKER)).set("security.protocol", "SASL_PLAINTEXT")
                .set("sasl.mechanism", mechanism).set("sasl.username", user).set("sasl.password", password);
    }

    private static Admin admin() {
        return new Admin(config("admin", "PLAIN", "admin-secret"));
    }

    private static Acl rule(String resource, Acl.Pattern pattern, String principal) {
        return new Acl(Acl.ResourceType.TOPIC, resource, pattern, principal, "*", Acl.Operation.READ, Acl.Permission.ALLOW);
    }

    private static Set<Acl> ofDeleted(Map<AclFilter, CompletableFuture<List<DeletedAcl>>> deleted, AclFilter filter) {
        Set<Acl> rules = new HashSet<>();
        for (DeletedAcl each : Admin.await(deleted.get(filter))) {
            assertNull(each.failure());
            rules.add(each.acl());
        }
        return rules;
    }

    @Test
    void filtersMatchExactlyWhatTheySay() throws Exception {
        try (Admin admin = admin()) {
            String name = RealAdminTest.fresh("acl");
            String user = "User:" + name;
            Acl literal = rule(name, Acl.Pattern.LITERAL, user);
            Acl prefix = rule(name, Acl.Pattern.PREFIXED, user);
            Acl longer = rule(name + "-longer", Acl.Pattern.LITERAL, user);
            Acl all = rule("*", Acl.Pattern.LITERAL, user);
            Acl denied = new Acl(Acl.ResourceType.GROUP, name, Acl.Pattern.LITERAL, user, "127.0.0.9",
                    Acl.Operation.ALL, Acl.Permission.DENY);
            Set<Acl> rules = Set.of(literal, prefix, longer, all, denied);
            AclFilter mine = AclFilter.ALL.withPrincipal(user);
            admin.createAcls(rules).values().forEach(Admin::await);
            RealAdminTest.until(rules::equals, () -> Set.copyOf(Admin.await(admin.describeAcls(mine))));

            assertFits(admin, Set.of(denied), mine.withHost("127.0.0.9"));
            assertFits(admin, Set.of(), mine.withHost("127.0.0"));
            assertFits(admin, Set.of(denied), mine.withPermission(Acl.Permission.DENY));
            assertFits(admin, Set.of(denied), mine.withOperation(Acl.Operation.ALL));
            assertFits(admin, Set.of(literal, prefix, longer, all), mine.withOperation(Acl.Operation.READ));
            assertFits(admin, Set.of(literal),
                    mine.withResource(Acl.ResourceType.TOPIC, name, Acl.Pattern.LITERAL));
            assertFits(admin, Set.of(literal, prefix), mine.withResource(Acl.ResourceType.TOPIC, name, Acl.Pattern.ANY));
            assertFits(admin, Set.of(prefix, longer, all),
                    mine.withResource(Acl.ResourceType.TOPIC, name + "-longer", Acl.Pattern.MATCH));
            assertFits(admin, Set.of(), AclFilter.ALL.withPrincipal("User:*").withResource(
                    Acl.ResourceType.TOPIC, name, null));
            assertFits(admin, Set.of(), mine.withPrincipal(user + "x"));

            Map<AclFilter, CompletableFuture<List<DeletedAcl>>> deleted = admin.deleteAcls(
                    List.of(longer.filter(), denied.filter(), rule("no-such", Acl.Pattern.LITERAL, user).filter()));
            assertEquals(Set.of(longer), ofDeleted(deleted, longer.filter()));
            assertEquals(Set.of(denied), ofDeleted(deleted, denied.filter()));
            assertEquals(Set.of(), ofDeleted(deleted, rule("no-such", Acl.Pattern.LITERAL, user).filter()));
            RealAdminTest.until(Set.of(literal, prefix, all)::equals, () -> Set.copyOf(Admin.await(admin.describeAcls(mine))));
            assertEquals(Set.of(literal, prefix, all), ofDeleted(admin.deleteAcls(List.of(mine)), mine));
            RealAdminTest.until(List.of()::equals, () -> Admin.await(admin.describeAcls(mine)));
        }
    }

    private static void assertFits(Admin admin, Set<Acl> rules, AclFilter filter) {
        assertEquals(rules, Set.copyOf(Admin.await(admin.describeAcls(filter))), filter::toString);
    }

    @Test
    void whoMayNotIsToldSo() {
        try (Admin alice = new Admin(config("alice", "PLAIN", "alice-secret"))) {
            assertThrows(ClusterAuthorizationException.class, () -> Admin.await(alice.describeAcls(AclFilter.ALL)));
            Acl rule = Acl.allow(Acl.ResourceType.TOPIC, "alice-x", "User:alice", Acl.Operation.ALL);
            CompletableFuture<Void> created = alice.createAcls(List.of(rule)).get(rule);
            assertThrows(ClusterAuthorizationException.class, () -> Admin.await(created));
        }
    }

    @Test
    void usersAreMadeDescribedAndDeleted() throws Exception {
        try (Admin admin = admin()) {
            String user = RealAdminTest.fresh("user");
            ScramChange first = ScramChange.set(user, ScramMechanism.SCRAM_SHA_256, "first");
            ScramChange second = ScramChange.set(user, ScramMechanism.SCRAM_SHA_512, 8192, "second", new byte[] {1, 2, 3, 4});
            Map<String, CompletableFuture<Void>> both = admin.alterScramUsers(List.of(first, second));
            assertEquals(Set.of(user), both.keySet());
            assertThrows(DuplicateResourceException.class, () -> Admin.await(both.get(user)));
            Admin.await(admin.alterScramUsers(List.of(first)).get(user));
            Admin.await(admin.alterScramUsers(List.of(second)).get(user));
            Set<ScramCredential> credentials = Set.of(new ScramCredential(ScramMechanism.SCRAM_SHA_256, 4096),
                    new ScramCredential(ScramMechanism.SCRAM_SHA_512, 8192));
            RealAdminTest.until(credentials::equals, () -> {
                List<ScramCredential> known = Admin.await(admin.describeScramUsers()).get(user);
                return known == null ? Set.of() : Set.copyOf(known);
            });
            Admin.await(admin.alterScramUsers(
                    List.of(ScramChange.delete(user, ScramMechanism.SCRAM_SHA_256))).get(user));
            RealAdminTest.until(List.of(new ScramCredential(ScramMechanism.SCRAM_SHA_512, 8192))::equals,
                    () -> Admin.await(admin.describeScramUsers(List.of(user)).get(user)));
            CompletableFuture<Void> gone =
                    admin.alterScramUsers(List.of(ScramChange.delete("no-such-user", ScramMechanism.SCRAM_SHA_256)))
                            .get("no-such-user");
            assertThrows(ResourceNotFoundException.class, () -> Admin.await(gone));
            Admin.await(admin.alterScramUsers(
                    List.of(ScramChange.delete(user, ScramMechanism.SCRAM_SHA_512))).get(user));
            assertTrue(Admin.await(admin.describeCluster()).brokers().size() > 0);
        }
    }
}

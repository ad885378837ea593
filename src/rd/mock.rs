//! Owner of a `rd_kafka_mock_cluster_t`.

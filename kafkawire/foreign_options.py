"""Options of other clients that kafkawire does not have, with underscores for dots, and advice on each.

The clients are Kafka's own for Java, librdkafka and confluent-kafka, kafka-python and aiokafka. Every other option of theirs is
one of kafkawire, with the same name (`kafkawire.config`).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["RENAMED", "advice", "each", "is_foreign"]


def each(text: str, names: str) -> dict[str, str]:
    """Return a table that gives several names, separated by spaces, the same text."""
    return dict.fromkeys(names.split(), text)


RENAMED: Mapping[str, tuple[str, str]] = {
    "api_version_request_timeout_ms": ("api_version_auto_timeout_ms", ""),
    "batch_num_messages": ("batch_size", "in bytes, not messages"),
    "bootstrap_timeout_ms": ("default_api_timeout_ms", "for send(): max_block_ms"),
    "compression_codec": ("compression_type", ""),
    "compression_gzip_level": ("compression_level", ""),
    "compression_lz4_level": ("compression_level", ""),
    "compression_zstd_level": ("compression_level", ""),
    "enable_ssl_certificate_verification": ("ssl_context", "a context of your own can do without"),
    "fetch_message_max_bytes": ("max_partition_fetch_bytes", ""),
    "fetch_wait_max_ms": ("fetch_max_wait_ms", ""),
    "fetch_error_backoff_ms": ("retry_backoff_ms", ""),
    "fetch_queue_backoff_ms": ("fetch_max_bytes", "limits what is fetched ahead; there is no pause to set"),
    "max_batch_size": ("batch_size", ""),
    "max_in_flight": ("max_in_flight_requests_per_connection", ""),
    "message_max_bytes": ("max_request_size", ""),
    "message_send_max_retries": ("retries", ""),
    "message_timeout_ms": ("delivery_timeout_ms", ""),
    "metadata_broker_list": ("bootstrap_servers", ""),
    "partitioner_cb": ("partitioner", "a function of (key, partitions)"),
    "partitioner_class": ("partitioner", "'murmur2', 'consistent' or a function of (key, partitions)"),
    "partitioner_ignore_keys": ("partitioner", "a function that ignores its key"),
    "queue_buffering_max_kbytes": ("buffer_memory", "in bytes"),
    "queue_buffering_max_messages": ("buffer_memory", "in bytes, not messages"),
    "queue_buffering_max_ms": ("linger_ms", ""),
    "queued_max_messages_kbytes": ("fetch_max_bytes", "in bytes"),
    "queued_min_messages": ("fetch_max_bytes", "in bytes, not messages"),
    "request_required_acks": ("acks", ""),
    "socket_connection_setup_timeout_max_ms": ("socket_connection_setup_timeout_ms", "which does not grow"),
    "socket_timeout_ms": ("request_timeout_ms", ""),
    "ssl_ca": ("ssl_cafile", "a PEM file"),
    "ssl_ca_certificate_stores": ("ssl_context", "without ssl_cafile the system's authorities are trusted"),
    "ssl_ca_location": ("ssl_cafile", "a PEM file"),
    "ssl_ca_pem": ("ssl_cafile", "a PEM file, not its text"),
    "ssl_certificate": ("ssl_certfile", "a PEM file"),
    "ssl_certificate_location": ("ssl_certfile", "a PEM file"),
    "ssl_certificate_pem": ("ssl_certfile", "a PEM file, not its text"),
    "ssl_certificate_verify_cb": ("ssl_context", "a context of your own"),
    "ssl_cipher_suites": ("ssl_context", "a context with set_ciphers()"),
    "ssl_ciphers": ("ssl_context", "a context with set_ciphers()"),
    "ssl_crl_location": ("ssl_context", "a context with load_verify_locations() of the list and VERIFY_CRL_CHECK_LEAF"),
    "ssl_crlfile": ("ssl_context", "a context with load_verify_locations() of the list and VERIFY_CRL_CHECK_LEAF"),
    "ssl_curves_list": ("ssl_context", "a context with set_ecdh_curve()"),
    "ssl_enabled_protocols": ("ssl_context", "a context with minimum_version and maximum_version"),
    "ssl_endpoint_identification_algorithm": ("ssl_check_hostname", "true or false"),
    "ssl_engine_callback_data": ("ssl_context", "a context of your own"),
    "ssl_engine_factory_class": ("ssl_context", "a context of your own"),
    "ssl_engine_id": ("ssl_context", "a context of your own"),
    "ssl_engine_location": ("ssl_context", "a context of your own"),
    "ssl_key": ("ssl_keyfile", "a PEM file"),
    "ssl_key_location": ("ssl_keyfile", "a PEM file"),
    "ssl_key_password": ("ssl_password", ""),
    "ssl_key_pem": ("ssl_keyfile", "a PEM file, not its text"),
    "ssl_keystore_certificate_chain": ("ssl_certfile", "a PEM file, not its text"),
    "ssl_keystore_key": ("ssl_keyfile", "a PEM file, not its text"),
    "ssl_keystore_location": ("ssl_certfile", "a PEM file, with the key or beside ssl_keyfile"),
    "ssl_keystore_password": ("ssl_password", ""),
    "ssl_protocol": ("ssl_context", "a context with minimum_version and maximum_version"),
    "ssl_providers": ("ssl_context", "a context of your own"),
    "ssl_sigalgs_list": ("ssl_context", "a context of your own"),
    "ssl_truststore_certificates": ("ssl_cafile", "a PEM file, not its text"),
    "ssl_truststore_location": ("ssl_cafile", "a PEM file"),
    "sticky_partitioning_linger_ms": ("linger_ms", "records without a key change partition with each batch"),
    "topic_metadata_refresh_interval_ms": ("metadata_max_age_ms", ""),
}
"""Name -> the equivalent option of kafkawire, and how it differs."""

_VERSIONS = "not needed: each broker is asked which versions it speaks"
_SYSTEM = "not needed: the system sizes socket buffers"
_METRICS = "not needed: Producer.counts() and Consumer.lag() have the numbers whenever you ask"
_PEM = "not needed: files are PEM"
_OPENSSL = "not needed: Python's ssl module does the work"
_LOGGING = "use the logger 'kafkawire' of the logging module"
_SOCKETS = "not needed: Python's sockets are used"
_FETCHES = "not needed: poll() fetches while the caller works on what it returned"
_METADATA = "not needed: metadata is asked for when something is missing or has moved"
_DONE = "not needed: it is done always"

_OTHERWISE: Mapping[str, str] = {
    **each(_VERSIONS, "api_version api_version_request api_version_fallback_ms broker_version_fallback"),
    **each(_SYSTEM, "receive_buffer_bytes send_buffer_bytes socket_receive_buffer_bytes socket_send_buffer_bytes"),
    **each(
        _METRICS,
        "enable_metrics_push metric_group_prefix metric_reporters metrics_enabled metrics_num_samples metrics_recording_level"
        " metrics_sample_window_ms stats_cb statistics_interval_ms",
    ),
    **each(_PEM, "ssl_keystore_type ssl_truststore_password ssl_truststore_type"),
    **each(
        _OPENSSL,
        "security_providers ssl_keymanager_algorithm ssl_provider ssl_secure_random_implementation ssl_trustmanager_algorithm",
    ),
    **each(_LOGGING, "debug log_cb log_connection_close log_level log_queue log_thread_name logger"),
    **each(
        _SOCKETS,
        "closesocket_cb connect_cb kafka_client open_cb resolve_cb selector socket_blocking_max_ms socket_cb socket_max_fails"
        " socket_options",
    ),
    **each(
        _METADATA,
        "metadata_max_idle_ms topic_blacklist topic_metadata_propagation_max_ms topic_metadata_refresh_fast_cnt"
        " topic_metadata_refresh_fast_interval_ms topic_metadata_refresh_sparse",
    ),
    **each(_DONE, "socket_keepalive_enable socket_nagle_disable produce_offset_report enable_random_seed"),
    **each("use exceptions, and the logger 'kafkawire'", "error_cb background_event_cb enabled_events"),
    **each("use on_delivery of send(), which is called with (error, metadata)", "dr_cb dr_msg_cb on_delivery"),
    **each("not needed: all addresses of a name are tried", "client_dns_lookup broker_address_family"),
    **each(
        "not needed: names are looked up again at every attempt to connect", "bootstrap_resolve_timeout_ms broker_address_ttl"
    ),
    **each(
        "not needed: when no known broker answers, the bootstrap servers are asked again",
        "metadata_recovery_strategy metadata_recovery_rebootstrap_trigger_ms",
    ),
    **each(_FETCHES, "consume_cb consume_callback_max_messages"),
    **each("not needed: idempotent producers keep the order", "enable_gapless_guarantee queuing_strategy msg_order_cmp"),
    **each("wrap send() and poll() in functions of your own", "interceptor_classes interceptors plugin_library_paths"),
    **each("not needed: it is internal to librdkafka", "builtin_features internal_termination_signal message_copy_max_bytes"),
    **each("give topics' options with the others", "default_topic_conf default_topic_config"),
    "buffer_memory_allocation_strategy": "not needed: memory is taken as records come",
    "config_providers": "give the values themselves, read from wherever they are kept",
    "delivery_report_only_error": "let on_delivery return where its error is None",
    "enable_partition_eof": "use stop_at_end, or lag()",
    "exclude_internal_topics": "not needed: only topics that are named are read",
    "internal_throw_on_fetch_stable_offset_unsupported": "not needed: it is internal to the Java client",
    "loop": "not needed: it belongs to the event loop that runs where it is made",
    "opaque": "bind what a callback needs, as with functools.partial",
    "partition_eof": "use stop_at_end, or lag()",
    "queue_buffering_backpressure_threshold": "use linger_ms and batch_size",
    "receive_message_max_bytes": "not needed: answers of more than 100 MiB are refused; fetch_max_bytes says what is asked for",
    "reconnect_backoff_jitter_ms": "not needed: pauses vary at random",
    "throttle_cb": "not needed: what brokers ask for is waited for",
    "topics": "name the topics first, without a keyword: Consumer('a', 'b', ...)",
}
"""Name -> the reason why it is not needed, or the advice on a method to use instead."""

_NOT_YET: Mapping[str, str] = {
    **each(
        "consumer groups are",
        """
        auto_commit_enable auto_commit_interval_ms coordinator_query_interval_ms default_offset_commit_callback
        enable_auto_commit enable_auto_offset_store group_id group_instance_id group_protocol group_protocol_type
        group_remote_assignor heartbeat_interval_ms max_poll_interval_ms offset_commit_cb offset_store_method
        offset_store_path offset_store_sync_interval_ms on_commit partition_assignment_strategy rebalance_cb
        rebalance_timeout_ms session_timeout_ms
        """,
    ),
    **each("share groups are", "share_acknowledgement_mode share_acquire_mode"),
    **each("transactions are", "isolation_level transaction_timeout_ms transaction_two_phase_commit_enable transactional_id"),
    **each("SASL is", "enable_sasl_oauthbearer_unsecure_jwt oauth_cb oauthbearer_token_refresh_cb"),
    **each("OpenID Connect is", "https_ca_location https_ca_pem"),
    **each("the admin client is", "bootstrap_controllers"),
    **each("fetching from the nearest replica is", "client_rack"),
    **each("the check of the cluster's id is", "metadata_cluster_check_enable"),
    **each("proxies are", "proxy_url socks5_proxy"),
    **each("incremental fetch sessions are", "enable_incremental_fetch_sessions"),
    **each(
        "choosing partitions by the speed or the rack of their leaders is",
        "partitioner_adaptive_partitioning_enable partitioner_availability_timeout_ms partitioner_rack_aware",
    ),
}
"""Name -> the missing feature it belongs to, with its verb."""

_SASL = "sasl_"
"""Prefix of all options of SASL."""


def is_foreign(name: str) -> bool:
    """Return True for an option, written with underscores, of another client that kafkawire does not have."""
    return name in RENAMED or name in _OTHERWISE or name in _NOT_YET or name.startswith(_SASL)


def advice(name: str, *, dotted: bool) -> str:
    """Return the advice on an option of another client; options in it are named with dots if `dotted`."""
    if name in RENAMED:
        ours, difference = RENAMED[name]
        return f"use {ours.replace('_', '.') if dotted else ours}" + (f" ({difference})" if difference else "")
    if name in _OTHERWISE:
        return _OTHERWISE[name]
    return f"{_NOT_YET.get(name, 'SASL is')} not in this release yet"

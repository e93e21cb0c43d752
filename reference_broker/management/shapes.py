"""The shape of every answer: its members and their JSON types, as OpenAPI wants them.

A type that ends in ? may be null; one that begins with a capital is a shape of its own, one in brackets a list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHAPES: Mapping[str, Mapping[str, str]] = {
    "Whoami": {"name": "string", "tags": "[string]", "is_internal_user": "boolean"},
    "User": {"name": "string", "password_hash": "string", "hashing_algorithm": "string", "tags": "[string]",
             "limits": "object"},
    "VirtualHost": {"name": "string", "description": "string", "tags": "[string]", "default_queue_type": "string",
                    "tracing": "boolean", "metadata": "object"},
    "VirtualHostLimits": {"vhost": "string", "value": "object"},
    "UserLimits": {"user": "string", "value": "object"},
    "Parameter": {"component": "string", "vhost": "string", "name": "string", "value": "object"},
    "GlobalParameter": {"name": "string", "value": "any"},
    "Permission": {"user": "string", "vhost": "string", "configure": "string", "write": "string", "read": "string"},
    "TopicPermission": {"user": "string", "vhost": "string", "exchange": "string", "write": "string", "read": "string"},
    "Policy": {"vhost": "string", "name": "string", "pattern": "string", "apply-to": "string", "definition": "object",
               "priority": "integer"},
    "Queue": {
        "name": "string", "vhost": "string", "type": "string", "durable": "boolean", "auto_delete": "boolean",
        "exclusive": "boolean", "arguments": "object", "node": "string", "state": "string", "messages": "integer",
        "messages_ready": "integer", "messages_unacknowledged": "integer", "message_bytes_ready": "integer",
        "consumers": "integer", "consumer_details": "[Consumer]", "owner_pid_details": "object?",
        "single_active_consumer_tag": "string?", "policy": "string?", "operator_policy": "string?",
        "effective_policy_definition": "object",
    },
    "Exchange": {"name": "string", "vhost": "string", "type": "string", "durable": "boolean", "auto_delete": "boolean",
                 "internal": "boolean", "arguments": "object", "policy": "string?"},
    "Binding": {"source": "string", "vhost": "string", "destination": "string", "destination_type": "string",
                "routing_key": "string", "arguments": "object", "properties_key": "string"},
    "Routed": {"routed": "boolean"},
    "Message": {"payload_bytes": "integer", "redelivered": "boolean", "exchange": "string", "routing_key": "string",
                "message_count": "integer", "payload": "string", "payload_encoding": "string", "properties": "object"},
    "Connection": {
        "name": "string", "node": "string", "type": "string", "state": "string", "protocol": "string",
        "user": "string", "vhost": "string", "auth_mechanism": "string", "peer_host": "string",
        "peer_port": "integer", "host": "string", "port": "integer", "channels": "integer", "channel_max": "integer",
        "frame_max": "integer", "timeout": "integer", "client_properties": "object", "ssl": "boolean",
        "ssl_protocol": "string?", "ssl_cipher": "string?", "peer_cert_subject": "string?",
        "peer_cert_issuer": "string?",
    },
    "Channel": {
        "name": "string", "node": "string", "number": "integer", "state": "string", "user": "string",
        "vhost": "string", "connection_details": "object", "confirm": "boolean", "transactional": "boolean",
        "consumer_count": "integer", "messages_unacknowledged": "integer", "messages_unconfirmed": "integer",
        "prefetch_count": "integer", "global_prefetch_count": "integer",
    },
    "Consumer": {
        "consumer_tag": "string", "ack_required": "boolean", "prefetch_count": "integer", "exclusive": "boolean",
        "arguments": "object", "active": "boolean", "activity_status": "string", "queue": "object",
        "channel_details": "object",
    },
    "Overview": {
        "product_name": "string", "product_version": "string", "rabbitmq_version": "string",
        "management_version": "string", "node": "string", "cluster_name": "string", "rates_mode": "string",
        "exchange_types": "[object]", "contexts": "[object]", "object_totals": "object", "queue_totals": "object",
    },
    "Node": {"name": "string", "type": "string", "running": "boolean", "partitions": "[string]",
             "being_drained": "boolean", "uptime": "integer", "os_pid": "string", "rates_mode": "string",
             "enabled_plugins": "[string]", "fd_total": "integer", "sockets_total": "integer", "proc_total": "integer",
             "processors": "integer", "run_queue": "integer", "mem_limit": "integer", "disk_free_limit": "integer",
             "mem_alarm": "boolean", "disk_free_alarm": "boolean", "exchange_types": "[object]",
             "auth_mechanisms": "[object]"},
    "Definitions": {
        "product_name": "string", "product_version": "string", "rabbitmq_version": "string", "users": "[User]",
        "vhosts": "[Named]", "global_parameters": "[GlobalParameter]", "permissions": "[Permission]",
        "topic_permissions": "[TopicPermission]",
        "parameters": "[object]", "policies": "[Policy]", "queues": "[object]", "exchanges": "[object]",
        "bindings": "[object]",
    },
    "VirtualHostDefinitions": {
        "product_name": "string", "product_version": "string", "rabbitmq_version": "string", "parameters": "[object]",
        "policies": "[object]", "queues": "[object]", "exchanges": "[object]", "bindings": "[object]",
    },
    "Named": {"name": "string"},
    "Status": {"status": "string"},
    "ProtocolListener": {"status": "string", "protocol": "string"},
    "PortListener": {"status": "string", "port": "integer"},
    "Auth": {"oauth_enabled": "boolean", "enable_uaa": "boolean", "uaa_client_id": "string", "uaa_location": "string"},
    "Nothing": {},
    "Settings": {"consumer_timeout": "integer?"},
    "Clock": {"now": "number"},
    "Alarm": {"reason": "any"},
    "Mutants": {"known": "[object]", "on": "[string]"},
    "Liberties": {"known": "[object]", "taken": "any"},
    "Events": {"on": "boolean", "count": "integer", "events": "[object]"},
    "Dialect": {"name": "string", "known": "[string]"},
    "Description": {"openapi": "string", "info": "object", "paths": "object", "components": "object"},
    "Error": {"error": "string", "reason": "any"},
}


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one type."""
    if kind == "any":
        return {}
    if kind[0] == "[":
        return {"type": "array", "items": schema(kind[1:-1])}
    if kind[-1] == "?":
        return {"type": [kind[:-1], "null"]}
    return {"$ref": f"#/components/schemas/{kind}"} if kind[0].isupper() else {"type": kind}


def schemas() -> dict[str, Any]:
    return {
        name: {"type": "object", "properties": {key: schema(kind) for key, kind in members.items()},
               "required": list(members)}
        for name, members in SHAPES.items()
    }

"""Names and routes: queues, exchanges, bindings, and where a message goes."""

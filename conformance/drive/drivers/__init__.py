"""The sockets of conformance. Drivers send what they are told, tell what they see, and judge nothing."""

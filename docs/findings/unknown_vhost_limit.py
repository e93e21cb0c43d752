"""What becomes of a limit of a virtual host whose name nobody knows?

    python unknown_vhost_limit.py http://guest:guest@localhost:15672 ...

Makes a virtual host, puts a parameter `vhost-limits` of an unknown name there through the management API, asks what is
stored, deletes the virtual host, and asks whether it is gone. Prints each answer. What is left is removed in the end.
"""

from __future__ import annotations

import json
import sys
import uuid

from management import ask


def main() -> None:
    for admin in sys.argv[1:]:
        name = f"finding-{uuid.uuid4().hex[:12]}"
        limit = f"/api/parameters/vhost-limits/{name}/other"
        print("RabbitMQ", json.loads(ask(admin, "GET", "/api/overview")[1])["rabbitmq_version"])
        ask(admin, "PUT", f"/api/vhosts/{name}")
        for says, verb, path, content in (
            (
                "put the limit",
                "PUT",
                limit,
                {"component": "vhost-limits", "vhost": name, "name": "other", "value": {"max-connections": 1}},
            ),
            ("is it stored?", "GET", f"/api/parameters/vhost-limits/{name}", None),
            ("delete the virtual host", "DELETE", f"/api/vhosts/{name}", None),
            ("is it there?", "GET", f"/api/vhosts/{name}", None),
        ):
            status, said = ask(admin, verb, path, content)
            print(f"  {says:24} {status} {' '.join(said.split())[:90]}".rstrip())
        if ask(admin, "GET", f"/api/vhosts/{name}")[0] == 200:
            ask(admin, "DELETE", limit)
            print("  without the limit        ", ask(admin, "DELETE", f"/api/vhosts/{name}")[0], sep="")


if __name__ == "__main__":
    main()

"""Works on recordings and captures: records through a proxy, judges offline, watches a directory."""

"""celery, unchanged: a task that is acknowledged late goes to another worker when the first one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

TASKS = """
import os
import time
from pathlib import Path

from celery import Celery

app = Celery("tasks", broker=os.environ["BROKER"])
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, broker_connection_retry_on_startup=True)


@app.task(bind=True, name="tasks.work")
def work(self, folder):
    started, done = Path(folder, "started"), Path(folder, "done")
    if started.exists():
        done.with_suffix(".new").write_text(str(self.request.delivery_info["redelivered"]))
        done.with_suffix(".new").rename(done)
    else:
        started.touch()
        time.sleep(600)
"""
WORKER = (
    "worker",
    "--pool",
    "solo",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
    "--loglevel",
    "WARNING",
)


def test_a_late_task_is_redelivered_when_its_worker_is_killed(broker, eventually, tmp_path):
    (tmp_path / "tasks.py").write_text(TASKS)
    environment = {**os.environ, "BROKER": broker.url, "PYTHONPATH": str(tmp_path)}

    def worker():
        return subprocess.Popen([sys.executable, "-m", "celery", "-A", "tasks", *WORKER], cwd=tmp_path, env=environment)

    sender = "import sys, tasks; tasks.work.delay(sys.argv[1])"
    subprocess.run([sys.executable, "-c", sender, str(tmp_path)], env=environment, check=True, timeout=120)
    first = worker()
    second = None
    try:
        eventually((tmp_path / "started").exists)
        first.send_signal(signal.SIGKILL)
        first.wait()
        second = worker()
        eventually((tmp_path / "done").exists)
        assert (tmp_path / "done").read_text() == "True"
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.wait()

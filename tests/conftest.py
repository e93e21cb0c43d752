"""What all tests share: with xdist, `--dist loadfile` keeps a file in one process.

So what a file sets up for all its tests (a capture, a Spark session, which costs ten seconds and a gigabyte) is set up
once for them. There are as many Spark sessions as processes that meet Spark, and they work side by side.

Hypothesis draws the same examples everywhere, so that a change is to blame for what fails after it, and not the day;
`pytest tests --hypothesis-profile=default` goes looking for new ones. How long an example takes tells of the machine.

Jobs that a shell runs in the background ignore interrupts, and so would all the processes that tests interrupt. And
what is said is laid out for 80 columns, however wide the terminal is.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "everywhere-alike",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everywhere-alike")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["COLUMNS"] = "80"

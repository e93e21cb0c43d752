"""What all tests share: with xdist, `--dist loadfile` keeps a file in one process.

So what a file sets up for all its tests (a capture, a Spark session, which costs ten seconds and a gigabyte) is set up
once for them. There are as many Spark sessions as processes that meet Spark, and they work side by side.
"""

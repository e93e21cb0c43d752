"""Judges offline: pure functions that need neither Arrow nor Spark, so they run in one process and on Spark.

    gold      one history -> rows of the table gold       the live Judge, folded
    world     that nobody unseen uses the queues          the word of who took a capture: `--whole`
    islands   the parts of a history that share nothing   judged apart, with the same result
    crossing  one queue seen by several histories         what no single history can tell
    tables    counts of gold -> verdict table             and what it differs in from a live run
    trends    how verdicts of many runs combine           and which runs are worth comparing
    runs      what is known of a run                      and a digest of the code and rules that judge
    compiled  the fold as machine code                    where `make native` made one

`reports.pipeline` does this on Spark, `reports.alone` in this process, and a test proves that they agree.
"""

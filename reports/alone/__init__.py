"""Judges small inputs in this process: without Spark and Java, and without Arrow if no tables are needed.

    store    recordings and captures -> histories in memory, or TooMany
    judged   histories -> gold, verdict table, times          the functions of `reports.judging`, as Spark calls them
    marts    verdict tables of many runs -> what people ask   the marts of `reports.pipeline.marts`
    tables   all of it as the lake that Spark would write     if deltalake is installed

The verdicts are those of Spark; a test compares the two.
"""

"""Small inputs, judged in this process: no Spark, no Java, and no Arrow where nobody wants tables.

    store    recordings and captures -> histories in memory, or TooMany
    judged   histories -> gold, verdict table, times          the functions of `reports.judging`, as Spark calls them
    marts    verdict tables of many runs -> what people ask   the marts of `reports.pipeline.marts`
    tables   all of it as the lake that Spark would write     where deltalake is

The verdicts are those of Spark, and a test holds the two against each other.
"""

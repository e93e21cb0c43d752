"""The pipeline: judges recordings and captures on Spark, with the same folds that judge live.

    inputs    paths -> what there is to read         recordings and captures, told apart by their first octets
    ingest    recording -> bronze                    one task per file, read by the reader of recordings
    shard     bronze -> silver                       by run, history and island, sorted: the one big shuffle
    blocks    events as columns in one row           what that shuffle moves, and the worker that writes shards
    places    rows that stay where they are          named in that shuffle, and read by who writes the shard
    columns   the tables of the lake                 every column, its type and what it means
    files     rows -> Parquet, and back              what workers write, to be named in a commit
    lake      Delta tables                           committed by one, on this machine or in an object store
    steps     what is done                           known by what it was made of
    check     shards -> gold                         one task per shard, a Judge folded over Arrow batches, no shuffle
    timing    shards -> latencies                    histograms of confirms and deliveries, which add up exactly
    cross     shards -> shared queues                what several histories see of one queue, ordered by causality
    verdicts  gold -> verdict table                  conformance.oracle.verdicts, on a few rows per rule
    marts     verdict tables -> matrix, history, flakiness, latency, regressions
    job       all of it, idempotent per run          `amqp-conformance trace check`
    watch     how far a stage has come               of this process, or told by Spark Connect
    cluster   a standalone cluster, a Connect server of the pip package, for tests and to try things out

DataFrame operations only, so that it also runs through Spark Connect. `session` is the only place that configures
Spark. The functions that others build upon keep their names and columns:

    ingest.events(spark, recording)                   -> columns of ingest.DDL
    blocks.read(spark, files)                         -> columns of blocks.DDL, the events packed
    shard.silver(packed, shards, place)               -> writes shards of columns.SILVER, sorted
    check.check(events, profile_of_run)               -> columns of check.DDL, from events in any order
    check.gold(shards, profile_of_run)                -> the same, from silver: ingest.tasks(spark, [(run, path), ...])
    check.fold_one, check.rows_of                     one history without Spark
"""

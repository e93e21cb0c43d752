"""The pipeline: recordings to verdicts on Spark, by the folds that also judge live.

    ingest    recording -> DataFrame of events       one task per file, read by the reader of recordings
    check     events -> findings and coverage        shuffle by history, sort by seq, fold a Judge over Arrow batches
    verdicts  findings and coverage -> verdict table conformance.verdicts, on a few rows per rule

DataFrame operations only, so that it also runs through Spark Connect. `session` is the only place that configures
Spark. `python -m reports.pipeline RECORDING --out DIR` does it all.
"""

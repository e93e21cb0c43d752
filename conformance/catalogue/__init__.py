"""The catalogue as data: rules, profiles that answer open questions, known deviations. Imports nothing of ours."""

"""The directed checks: a short scene for each judged rule, a module for each family.

A scene only provokes. It says what the client does, and nothing about what the broker should do: every frame goes
into the history, and the monitors judge the history, here as anywhere else. What a scene must not do is assert, sleep
or wait for a particular answer; where the order of things matters it quiesces (nothing owed), passes a barrier, or
puts everything into one write. Its whole duty is that its rule's antecedent fires, in a few round trips.
"""

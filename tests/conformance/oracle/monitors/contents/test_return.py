"""RETURN: sound and broken histories, and what brokers may do."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

BEGUN = "@exchange x \n @open 1 \n @open 2 \n"
ONE = BEGUN + "1 > publish any m1 exchange=x mandatory \n"
TWO = ONE + "1 > publish any m2 exchange=x mandatory \n"
EACH = ONE + "2 > publish any m2 exchange=x mandatory \n"
FULL = 'with={"headers":{"a":["I",3]},"app_id":"a"}'
LONG = BEGUN + "1 > publish any m1 exchange=x mandatory bodies=3 \n"
WORDY = f"1 > publish any m2 exchange=x mandatory {FULL} \n"
BACK = "1 < return any m1 exchange=x \n"
SELECTED = BEGUN + "1 > select \n 1 < select-ok \n 1 > publish any m1 exchange=x mandatory \n"
COMMITTED = SELECTED + "1 > publish any m2 exchange=x mandatory \n 1 > commit \n"
SOUND = {
    "RETURN-001": ONE + BACK,
    "RETURN-002": ONE + BACK + "@close 1",
    "RETURN-003": EACH + BACK + "2 < return any m2 exchange=x",
    "RETURN-004": TWO + BACK + "1 < return any m2 exchange=x",
    "RETURN-005": ONE + BACK,
    "RETURN-006": LONG + WORDY + f"1 < return any m1 exchange=x bodies=3 \n 1 < return any m2 exchange=x {FULL}",
}
BROKEN = [
    ("RETURN-001", ONE + "@barrier 1 \n @close 1"),
    ("RETURN-001", "@open 1 \n 1 > publish nowhere m1 mandatory \n 1 < closed 404 60 40 no queue"),
    ("CNF-009", "@confirming 1 \n 1 > publish nowhere m1 mandatory \n 1 < closed 404 60 40 no queue"),
    ("CNF-008", "@confirming 1 \n 1 > publish nowhere m1 \n 1 < closed 404 60 40 no queue"),
    ("RETURN-002", ONE + BACK + BACK),
    ("RETURN-003", EACH + BACK + "1 < return any m2 exchange=x"),
    ("RETURN-003", BEGUN + "1 > publish any m1 exchange=x \n 2 < return any m1 exchange=x"),
    ("RETURN-003", BEGUN + BACK),
    ("RETURN-004", TWO + "1 < return any m2 exchange=x \n" + BACK),
    ("RETURN-004", COMMITTED + "1 < return any m2 exchange=x \n" + BACK),
    ("RETURN-005", ONE + "1 < return any m1 exchange=x code=313"),
    ("RETURN-005", ONE + "1 < return other m1 exchange=x"),
    ("RETURN-005", ONE + "1 < return any m1"),
    ("RETURN-006", LONG + "1 < return any m1 exchange=x"),
    ("RETURN-006", BEGUN + WORDY + '1 < return any m2 exchange=x with={"app_id":"a"}'),
]
LAWFUL = {
    "the exchange may be missing": "@confirming 1 \n 1 > publish any m1 exchange=x \n 1 < closed 404 60 40 no exchange",
    "another publish may be meant, of which no rule says what becomes of it": "@queue q \n @confirming 1 \n"
    "1 > publish q m1 \n 1 > publish nowhere m2 exchange=x \n 1 < closed 404 60 40 no",
    "it is no question of routes": "@open 1 \n 1 > publish nowhere m1 mandatory \n 1 < closed 406 60 40 expiration",
    "a queue is bound meanwhile": "@queue q \n" + ONE + "90 > bind q x \n 1 > publish any m2 exchange=x mandatory \n"
    "90 < bind-ok \n" + BACK + "@close 1",
    "in a transaction, in their order": COMMITTED + BACK + "1 < return any m2 exchange=x \n 1 < commit-ok \n @close 1",
    "what comes first was published later, in a transaction that was not committed": SELECTED
    + "1 > rollback \n 1 < rollback-ok \n 1 > publish any m2 exchange=x mandatory \n 1 > commit \n"
    + "1 < return any m2 exchange=x \n 1 < commit-ok \n @close 1",
    "it was never committed": BEGUN
    + "1 > select \n 1 < select-ok \n 1 > publish any m1 exchange=x mandatory \n @close 1",
    "two of the same content": BEGUN
    + "1 > publish any m1 exchange=x mandatory \n 1 > publish any m1 exchange=x mandatory \n"
    + BACK
    + BACK
    + "@close 1",
    "the first may be lost, and what is lost has no place in an order": TWO + "1 < return any m2 exchange=x",
    "an empty word may be none": "@queue q \n @route t topic * q \n @open 1 \n"
    "1 > publish a. m1 exchange=t mandatory \n @close 1",
    "what an immediate publish is told": "@open 1 \n 1 > publish any m1 immediate \n 1 < return any m1 code=313",
}

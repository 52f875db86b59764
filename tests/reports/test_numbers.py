"""Every number of a study has a key."""

from journeylab.reports.numbers import study_numbers


def test_every_number_of_a_verdict_has_a_key(trained):
    verdicts, _ = trained
    numbers = study_numbers(verdicts, {"worlds": 12})
    assert numbers["exp7.worlds"] == 12
    for verdict in verdicts.verdicts:
        assert numbers[f"{verdict.id}.effect"] == verdict.effect
        assert numbers[f"{verdict.id}.verdict"] == (verdict.verdict or "not judged")
        assert numbers[f"{verdict.id}.n"] == verdict.n
        for i, part in enumerate(verdict.parts, start=1):
            assert numbers[f"{verdict.id}.{i}.low"] == part.low
    assert numbers["exp7.5.low"] == "−∞"
    assert numbers["exp7.5.high"] == "∞"
    assert numbers["exp7.5.failures"] == 2

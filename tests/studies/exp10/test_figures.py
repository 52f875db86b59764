from journeylab.catalogue import printed_names

ARMS = printed_names("exp10").arms


def test_tables_list_every_run_and_every_impossible_entry(drawn, tables):
    assert len(drawn["accuracy"].axes) == 2
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 4
    assert accuracies["Arm"].tolist()[:3] == [ARMS["degree"], ARMS["degree"], ARMS["digits"]]
    cells = tables["cells"].frame
    assert ["X, P and Y rounded", "P[1, 3]", "0.99", "1.00"] in cells.to_numpy().tolist()
    confused = tables["confused"].frame
    assert len(confused) == 16
    pairs = confused["Degree"].tolist()
    assert all(a != b for a, b in zip(pairs[::2], pairs[1::2], strict=True))

def test_tables_show_accuracies_and_changes_of_the_loss(drawn, tables):
    assert len(drawn["accuracy"].axes) == 4  # three tasks, and exact match for one of them
    accuracies = tables["accuracies"].frame
    assert len(accuracies) == 5
    assert (accuracies["Diagonal"] == "–").sum() == 2  # PMA has no S, the sentence no k = n
    changes = tables["changes"].frame
    counts = changes[["Rises", "Stays", "Falls"]].astype(int)
    assert (counts.sum(axis=1) == 2).all()
    doubles = changes["Precision"] == "float64"
    assert (counts.loc[doubles, "Falls"] == 2).all()
    assert len(tables["ratios"].frame) == 5 * 3


def test_the_search_prints_one_winner_per_row(tables):
    frame = tables["search-rates"].frame
    marked = frame.map(lambda cell: str(cell).endswith("*")).sum(axis=1)
    assert (marked == 1).all()
    assert len(frame) == 2 * 2 * 4


def test_finite_steps_have_a_row_per_deviation(tables):
    frame = tables["steps"].frame
    assert frame["Deviation"].tolist() == ["0.02", "0.04", "0.1", "0.3", "1"]

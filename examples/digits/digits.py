"""Test accuracy of two classifiers on handwritten digits: python digits.py 0 1 2 > digits.csv.

With --head the table begins with the names of its columns.
"""

import sys

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

MODELS = {"svm": SVC(gamma=0.001), "neighbours": KNeighborsClassifier(n_neighbors=5)}


def main(words: list[str]) -> None:
    """Train both models on 400 digits for every seed, and test them on the others."""
    x, y = load_digits(return_X_y=True)
    if "--head" in words:
        print("model,seed,accuracy")
    for seed in (int(word) for word in words if word != "--head"):
        x_train, x_test, y_train, y_test = train_test_split(x, y, train_size=400, random_state=seed)
        for name, model in MODELS.items():
            accuracy = model.fit(x_train, y_train).score(x_test, y_test)
            print(f"{name},{seed},{accuracy:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])

# MLflow is a view: no rule waits for it. What was made is imported when the workflow ends, well or
# not; `make ui` catches up with the rest.


def import_into_mlflow():
    shell(
        "journeylab track --root {plan.config.root} --uri {plan.config.tracking.uri:q} || true"
    )


onsuccess:
    import_into_mlflow()


onerror:
    import_into_mlflow()

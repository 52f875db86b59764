from journeylab.studies.exp7_native_kg.settings import MODELS, Data, Job, Model, Training


def test_only_native_models_read_no_sentence_of_a_transfer_fact():
    for name, (spec, templates) in MODELS.items():
        assert (spec.kg == "native") == (templates == ()), name
        job = Job(
            variant=name,
            data=Data(),
            model=Model(),
            training=Training(steps=1, learning_rate=0.1),
        )
        assert (job.spec, job.linearised_templates) == (spec, templates)


def test_primed_models_differ_in_value_aggregation_only():
    for name in ("A", "B", "C"):
        (plain, read), (prime, also) = MODELS[name], MODELS[f"{name}prime"]
        assert prime.values == "operator"
        assert (prime.model_copy(update={"values": plain.values}), also) == (plain, read)

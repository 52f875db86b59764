"""What a researcher may write in ``config.yaml``, as frozen, validated objects.

The file is read once and flows one way: YAML → these models → plans → stages. Each study derives
its part from the models below (``studies/<folder>/settings.py``); this package knows no study.
"""

from journeylab.config.errors import (
    UserError,
    accepted,
    build,
    check_checkout,
    check_known,
    masked,
    meant,
    refusal,
    shown,
)
from journeylab.config.fields import (
    AsNumber,
    Count,
    ExternalFile,
    Factors,
    FromFile,
    Frozen,
    Labels,
    Levels,
    Metric,
    Name,
    Scale,
    SeveralWorlds,
)
from journeylab.config.grids import at_scale
from journeylab.config.reading import canonical, check_plain, leaves, parse_yaml, read_yaml
from journeylab.config.root import ONCE, Config, chunk_seeds, chunks
from journeylab.config.search import (
    Measured,
    Search,
    Trial,
    read_setting,
    same_values,
    with_values,
    without_values,
)
from journeylab.config.study import (
    Arms,
    ArmSettings,
    ByKind,
    ComputedArm,
    RunSettings,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
    VariantSettings,
)

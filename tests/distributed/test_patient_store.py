"""A store that does not answer is given up, whatever it says."""

import pytest
from torch.distributed import HashStore

from gossamer.distributed.patient_store import PatientStore, StoreLost


class Failing(HashStore):
    """A store whose every question fails, with an exception that says this."""

    def __init__(self, says: str) -> None:
        super().__init__()
        self.says = says

    def check(self, keys):
        raise RuntimeError(self.says)


@pytest.mark.parametrize(
    ("says", "told"), [("", "RuntimeError"), ("gone\nfrom there", "gone"), ("\n", "RuntimeError")]
)
def test_a_store_is_lost_whatever_its_exception_says(says: str, told: str):
    store = PatientStore(Failing(says), patience=5.0)
    for _ in range(2):
        with pytest.raises(StoreLost, match=f"^the rendezvous store is of no use: {told}$"):
            store.has("greeting")

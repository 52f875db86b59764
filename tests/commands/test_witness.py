"""`journeylab witness`: a signed register, stamped by a real authority on loopback."""

import base64
import errno
import json
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from journeylab.claims.attestation import hash_register
from journeylab.claims.register import read_register
from journeylab.claims.theorems import Theorems
from journeylab.commands.witness import (
    KEY,
    PAYLOAD,
    PUBLIC,
    STAMP,
    STATEMENTS,
    make_key,
    sign_register,
    stamp,
    verify_statement,
)
from journeylab.config import UserError

OPENSSL = shutil.which("openssl")
LOOKS = "alpha: 0.05\nlooks: {12: 0.89, 30: 0.11}\nsequential: [12, 16]\n"
CLAIMS = """measures:
  test: {label: accuracy, metric: accuracy, at: {split: test}, range: [0, 1]}
claims:
  - id: exp1.1
    theorem: prop:example
    statement: More points help.
    source: corrected
    effect: {difference: [{run: many/hidden, measure: test}, {run: few/hidden, measure: test}]}
    region: {above: 0.02}
  - id: exp1.2
    theorem: prop:example
    statement: No line is right.
    source: corrected
    effect: {every: {label: share, arm: corners, metric: corners}}
    region: {at_most: 0.75}
"""


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The claims of a project in the working directory, and a key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/looks.yaml").write_text(LOOKS)
    (tmp_path / "claims/exp1.yaml").write_text(CLAIMS)
    make_key(KEY)
    return tmp_path / "claims/exp1.yaml"


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def report(file: Path, **trusted: Path) -> tuple[str, bool]:
    lines, valid = verify_statement(file, **trusted)
    return "\n".join(lines), valid


# -- the key ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("register")
def test_only_the_owner_reads_the_key_and_git_ignores_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(KEY.stat().st_mode) == 0o600
    subprocess.run(["git", "init", "-q"], check=True)
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"], capture_output=True, text=True
    )
    assert KEY.name not in listed.stdout
    assert "claims/exp1.yaml" in listed.stdout


@pytest.mark.usefixtures("register")
def test_a_key_is_never_replaced() -> None:
    before = KEY.read_bytes()
    with pytest.raises(UserError, match="exists"):
        make_key(KEY)
    assert KEY.read_bytes() == before


def test_a_key_that_could_not_be_written_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    key = tmp_path / "keys/key.pem"
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        make_key(key)
    assert [path.name for path in key.parent.iterdir()] == [".gitignore"]
    monkeypatch.undo()
    make_key(key)
    assert key.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")


@pytest.mark.usefixtures("register")
def test_without_a_key_nothing_is_signed() -> None:
    KEY.unlink()
    with pytest.raises(UserError, match="--new-key"):
        sign_register(KEY, STATEMENTS)
    assert not STATEMENTS.exists()


# -- the statement ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("register")
def test_an_unchanged_register_verifies() -> None:
    file = sign_register(KEY, STATEMENTS)
    said, valid = report(file)
    assert valid
    assert "signature: valid" in said
    assert "register: unchanged, 2 claims" in said
    assert "time stamp: none" in said


@pytest.mark.usefixtures("register")
def test_openssl_agrees_with_the_signature(tmp_path: Path) -> None:
    """DSSE signs "DSSEv1", and the lengths and texts of type and payload."""
    file = sign_register(KEY, STATEMENTS)
    envelope = json.loads(file.read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    public = serialization.load_pem_public_key(file.with_suffix(PUBLIC).read_bytes())
    public.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert len(statement["subject"][0]["digest"]["sha256"]) == 64


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("above: 0.02", "above: 0.03", ["exp1.1 changed in what decides its verdict"]),
        ("More points help.", "Points help.", ["exp1.1 changed in its wording only"]),
        ("range: [0, 1]", "range: [0, 2]", ["exp1.1 changed in what decides its verdict"]),
        ("exp1.2", "exp1.3", ["exp1.2 was removed", "exp1.3 was added"]),
        ("at_most: 0.75", "at_most: 0.8", ["exp1.2 changed in what decides its verdict"]),
    ],
)
def test_a_changed_claim_is_named(
    register: Path, before: str, after: str, expected: list[str]
) -> None:
    file = sign_register(KEY, STATEMENTS)
    edit(register, before, after)
    said, valid = report(file)
    assert not valid
    assert "signature: valid" in said
    assert said.splitlines()[1].startswith("register: CHANGED since it was signed")
    assert [line.removeprefix("register: ") for line in said.splitlines()[2:-1]] == expected


def test_changed_looks_are_named(register: Path) -> None:
    file = sign_register(KEY, STATEMENTS)
    edit(register.with_name("looks.yaml"), "0.05", "0.1")
    said, valid = report(file)
    assert not valid
    assert "looks.yaml changed" in said
    assert "exp1.2 " not in said  # a certificate is judged without α


def test_comments_and_layout_change_no_hash(register: Path) -> None:
    file = sign_register(KEY, STATEMENTS)
    register.write_text("# a comment\n" + CLAIMS.replace("{above: 0.02}", "{ above:   0.02 }"))
    assert report(file)[1]


@pytest.mark.usefixtures("register")
def test_hashes_are_not_shortened() -> None:
    hashed = hash_register(read_register(Path("claims")), Theorems())
    digests = [*hashed["claims"].values(), *hashed["wording"].values(), hashed["looks"]]
    assert {len(digest) for digest in digests} == {64}


def test_a_register_is_signed_once_and_stays_when_it_returns(register: Path) -> None:
    first = sign_register(KEY, STATEMENTS)
    content = first.read_bytes()
    edit(register, "0.02", "0.03")
    assert sign_register(KEY, STATEMENTS) != first
    edit(register, "0.03", "0.02")
    assert sign_register(KEY, STATEMENTS) == first
    assert first.read_bytes() == content


@pytest.mark.usefixtures("register")
def test_a_changed_payload_is_not_the_signers() -> None:
    file = sign_register(KEY, STATEMENTS)
    envelope = json.loads(file.read_text())
    payload = base64.b64decode(envelope["payload"]).replace(b'"commit": null', b'"commit": "ab"')
    envelope["payload"] = base64.b64encode(payload).decode()
    file.write_text(json.dumps(envelope))
    said, valid = report(file)
    assert not valid
    assert said.startswith("signature: WRONG")


@pytest.mark.usefixtures("register")
def test_another_key_does_not_verify(tmp_path: Path) -> None:
    file = sign_register(KEY, STATEMENTS)
    make_key(tmp_path / "other/key.pem")
    other = sign_register(tmp_path / "other/key.pem", tmp_path / "other")
    assert report(file, key=file.with_suffix(PUBLIC))[1]
    said, valid = report(file, key=other.with_suffix(PUBLIC))
    assert not valid
    assert said.startswith("signature: WRONG")


@pytest.mark.usefixtures("register")
@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"payload": 1}', "\0"])
def test_a_file_that_is_no_statement_gives_one_line(content: str) -> None:
    file = sign_register(KEY, STATEMENTS)
    file.write_text(content)
    with pytest.raises(UserError, match="no signed statement") as caught:
        verify_statement(file)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("register")
@pytest.mark.parametrize("payload", ["junk", "[]", "3", "{}", "\xff", "no predicate", "no claims"])
def test_a_signed_payload_that_is_no_statement_gives_one_line(payload: str) -> None:
    file = sign_register(KEY, STATEMENTS)
    if payload.startswith("no "):
        statement = json.loads(base64.b64decode(json.loads(file.read_text())["payload"]))
        part = payload.removeprefix("no ")
        del (statement if part in statement else statement["predicate"])[part]
        payload = json.dumps(statement)
    private = serialization.load_pem_private_key(KEY.read_bytes(), password=None)
    envelope = Envelope(payload.encode("latin-1"), PAYLOAD, {})
    envelope.sign(CryptoSigner(private))
    file.write_text(json.dumps(envelope.to_dict()))
    with pytest.raises(UserError, match="its payload is no statement on a register"):
        verify_statement(file)


# -- the stamp -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Authority:
    """A time-stamping authority on loopback, and the certificate at the root of its chain."""

    address: str
    root: Path


CONFIG = """[tsa]
default_tsa = this
[this]
serial = {folder}/serial
signer_cert = {folder}/signer.pem
signer_key = {folder}/signer.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_alg = sha256
"""


def certify(
    name: str, issuer: tuple[x509.Name, ec.EllipticCurvePrivateKey] | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A root certificate, or a certificate of a signer of time stamps."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    issuer_name, issuer_key = issuer or (subject, key)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=issuer is None,
                crl_sign=issuer is None,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    if issuer is not None:
        purpose = x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(purpose, critical=True)
    return builder.sign(issuer_key, hashes.SHA256()), key


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """OpenSSL's own authority behind HTTP."""
    if OPENSSL is None:
        pytest.skip("openssl is missing")
    folder = tmp_path_factory.mktemp("authority")
    root, root_key = certify("root", None)
    signer, signer_key = certify("signer", (root.subject, root_key))
    pem = serialization.Encoding.PEM
    (folder / "root.pem").write_bytes(root.public_bytes(pem))
    (folder / "signer.pem").write_bytes(signer.public_bytes(pem))
    (folder / "signer.key").write_bytes(
        signer_key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "serial").write_text("01\n")
    (folder / "openssl.cnf").write_text(CONFIG.format(folder=folder))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            query = folder / "query.tsq"
            query.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/old":  # the answer to an earlier question
                answer = (folder / "answer.tsr").read_bytes()
            else:
                command = [OPENSSL, "ts", "-reply", "-config", folder / "openssl.cnf"]
                subprocess.run(
                    [*command, "-queryfile", query, "-out", folder / "answer.tsr"],
                    check=True,
                    capture_output=True,
                )
                answer = (folder / "answer.tsr").read_bytes()
            answer = b"hello" if self.path == "/page" else answer
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Authority(f"http://127.0.0.1:{server.server_port}", folder / "root.pem")
        server.shutdown()


@pytest.mark.usefixtures("register")
def test_a_stamp_is_verified_against_the_root(authority: Authority) -> None:
    file = sign_register(KEY, STATEMENTS)
    stamp(file, authority.address)
    said, valid = report(file, root=authority.root)
    assert valid
    today = datetime.now(UTC)
    assert f"time stamp: valid, {today:%Y-%m-}" in said
    assert "NOT CHECKED" in report(file)[0]


@pytest.mark.usefixtures("register")
def test_openssl_verifies_the_same_stamp(authority: Authority) -> None:
    file = sign_register(KEY, STATEMENTS)
    stamp(file, authority.address)
    files = ["-in", file.with_suffix(STAMP), "-data", file, "-CAfile", authority.root]
    done = subprocess.run([OPENSSL, "ts", "-verify", *files], capture_output=True, text=True)
    assert "Verification: OK" in done.stdout + done.stderr


@pytest.mark.usefixtures("register")
def test_a_stamp_of_another_root_or_file_is_wrong(authority: Authority, tmp_path: Path) -> None:
    file = sign_register(KEY, STATEMENTS)
    stamp(file, authority.address)
    other, _ = certify("other", None)
    (tmp_path / "other.pem").write_bytes(other.public_bytes(serialization.Encoding.PEM))
    said, valid = report(file, root=tmp_path / "other.pem")
    assert not valid
    assert "time stamp: WRONG" in said
    file.write_text(file.read_text() + "\n")  # the same statement in other bytes
    said, valid = report(file, root=authority.root)
    assert not valid
    assert "signature: valid" in said
    assert "time stamp: WRONG" in said


@pytest.mark.usefixtures("register")
def test_no_stamp_is_kept_that_does_not_fit(authority: Authority) -> None:
    file = sign_register(KEY, STATEMENTS)
    for address, expected in (
        (f"{authority.address}/page", "no time stamp"),
        (f"{authority.address}/old", "stamps another file"),
        ("http://127.0.0.1:9", "is signed and has no stamp"),
        ("ftp://127.0.0.1", "begins with https"),
    ):
        with pytest.raises(UserError, match=expected):
            stamp(file, address)
        assert not file.with_suffix(STAMP).exists()


@pytest.mark.usefixtures("register")
def test_a_stamp_is_never_replaced(authority: Authority) -> None:
    file = sign_register(KEY, STATEMENTS)
    stamp(file, authority.address)
    before = file.with_suffix(STAMP).read_bytes()
    with pytest.raises(UserError, match="stamped already"):
        stamp(file, authority.address)
    assert file.with_suffix(STAMP).read_bytes() == before


@pytest.mark.usefixtures("register")
def test_a_damaged_stamp_gives_one_line(authority: Authority) -> None:
    file = sign_register(KEY, STATEMENTS)
    stamp(file, authority.address)
    path = file.with_suffix(STAMP)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", os.urandom(64)):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="no time stamp"):
            verify_statement(file, authority.root)


@pytest.mark.usefixtures("register")
def test_a_refusal_is_no_stamp() -> None:
    file = sign_register(KEY, STATEMENTS)
    path = file.with_suffix(STAMP)
    path.write_bytes(bytes.fromhex("30053003020102"))  # an answer of status 2, rejection
    with pytest.raises(UserError, match="no time stamp"):
        verify_statement(file)


@pytest.mark.usefixtures("register")
def test_without_a_root_a_stamp_is_compared_with_the_file(
    authority: Authority, register: Path
) -> None:
    first = sign_register(KEY, STATEMENTS)
    stamp(first, authority.address)
    assert report(first)[1]
    edit(register, "0.02", "0.03")
    second = sign_register(KEY, STATEMENTS)
    shutil.copy(first.with_suffix(STAMP), second.with_suffix(STAMP))
    said, valid = report(second)
    assert not valid
    assert "register: unchanged" in said
    assert "time stamp: WRONG (it stamps another file)" in said

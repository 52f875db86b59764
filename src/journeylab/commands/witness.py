"""``journeylab witness``: sign the register, have the signature stamped, verify both.

Formats: a DSSE envelope (https://github.com/secure-systems-lab/dsse) around an in-toto statement,
signed with Ed25519; a time stamp of RFC 3161.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from journeylab.commands.results import CLAIMS, current_register
from journeylab.config import UserError
from journeylab.records.files import write_atomic, write_json
from journeylab.records.git import ask_git

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

KEYS = Path(".witness")
"""The folder of the private key, which git ignores."""
KEY = KEYS / "key.pem"
STATEMENTS = Path("witness")
PAYLOAD = "application/vnd.in-toto+json"
PUBLIC, STAMP = ".pub.pem", ".tsr"
IMPRINTS = ("sha256", "sha384", "sha512")
"""The hashes by which a stamp may name its file; :func:`stamp` asks for the last one."""
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading a payload raises: any bytes can be signed."""
TIMEOUT = 30.0
"""Seconds to wait for a time-stamping authority."""


def witness(
    new_key: Annotated[bool, typer.Option("--new-key", help="Make a key to sign with.")] = False,
    authority: Annotated[
        str, typer.Option(help="Address of a time-stamping authority (RFC 3161).")
    ] = "",
    verify: Annotated[Path | None, typer.Option(help="A statement to verify, offline.")] = None,
    root: Annotated[
        Path | None, typer.Option(help="With --verify: the authority's root certificate, PEM.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="With --verify: the signer's public key, PEM.")
    ] = None,
) -> None:
    """Sign the register as it is now, have it time-stamped, or verify a signed register."""
    if verify is not None:
        lines, valid = verify_statement(verify, root, key)
        typer.echo("\n".join(lines))
        raise typer.Exit(0 if valid else 1)
    if new_key:
        make_key(KEY)
        typer.echo(f"{KEY}: a new private key, which git ignores; keep a copy at a safe place")
        return
    file = sign_register(KEY, STATEMENTS)
    typer.echo(f"{file}: the register is signed; commit the folder {STATEMENTS}")
    if authority:
        made = stamp(file, authority)
        typer.echo(f"{file.with_suffix(STAMP)}: stamped {made}")


def make_key(path: Path) -> None:
    """Write a new Ed25519 key, readable by its owner only, into a folder that git ignores.

    Raises UserError if the file exists, since older statements are signed with that key.
    """
    from securesystemslib.signer import CryptoSigner

    if path.exists():
        raise UserError(f"{path}: exists, and has signed statements; move it away for a new key")
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(CryptoSigner.generate_ed25519().private_bytes)
            file.flush()
            os.fsync(file.fileno())
        os.link(partial, path)  # fails if another process has made a key meanwhile
    finally:
        partial.unlink(missing_ok=True)


def sign_register(key: Path, folder: Path) -> Path:
    """Sign the register of the working directory; return the statement's file.

    Beside it lies the public key. A register that this key has signed already keeps its statement,
    which may be stamped. Raises UserError without a key.
    """
    from securesystemslib.dsse import Envelope

    from journeylab.claims.attestation import state_register
    from journeylab.claims.theorems import read_theorems

    signer = _signer(key)
    commit = (ask_git(Path.cwd(), "rev-parse", "HEAD") or "").strip() or None
    statement = state_register(current_register(), read_theorems(CLAIMS), commit)
    payload = json.dumps(statement, indent=1, sort_keys=True, ensure_ascii=False).encode()
    envelope = Envelope(payload, PAYLOAD, {})
    envelope.sign(signer)
    digest = statement["subject"][0]["digest"]["sha256"]
    file = folder / f"register-{digest[:12]}-{signer.public_key.keyid[:8]}.json"
    if file.exists():
        return file
    with write_atomic(file.with_suffix(PUBLIC)) as partial:
        partial.write_bytes(_public_bytes(key))
    write_json(file, envelope.to_dict(), sealed=False)
    return file


def stamp(file: Path, authority: str) -> str:
    """Have the bytes of a statement stamped; write the answer beside it; return the time.

    Raises UserError if the file is stamped already, if the authority cannot be reached, or if its
    answer is not a stamp of this file.
    """
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder, decode_timestamp_response

    if file.with_suffix(STAMP).exists():
        raise UserError(f"{file.with_suffix(STAMP)}: exists; the statement is stamped already")
    content = file.read_bytes()
    builder = TimestampRequestBuilder(content, HashAlgorithm.SHA512)
    request = builder.cert_request(cert_request=True).build()
    answer = _post(authority, request.as_bytes(), file)
    try:
        response = decode_timestamp_response(answer)
        granted = response.status in (0, 1)
        imprint = response.tst_info.message_imprint.message if granted else b""
        nonce = response.tst_info.nonce if granted else None
    except ValueError as error:
        raise UserError(f"{authority}: the answer is no time stamp ({error})") from None
    if not granted:
        reasons = "; ".join(response.status_string) or f"status {response.status}"
        raise UserError(f"{authority}: refused to stamp ({reasons})")
    if imprint != request.message_imprint.message or nonce != request.nonce:
        raise UserError(f"{authority}: the answer stamps another file than {file}")
    with write_atomic(file.with_suffix(STAMP)) as partial:
        partial.write_bytes(answer)
    return f"{response.tst_info.gen_time:%Y-%m-%d %H:%M:%S} UTC by {authority}"


def _post(authority: str, request: bytes, file: Path) -> bytes:
    import requests

    if urlsplit(authority).scheme not in ("http", "https"):
        raise UserError(f"--authority: {authority!r}: write an address that begins with https://")
    try:
        answer = requests.post(
            authority,
            data=request,
            headers={"Content-Type": "application/timestamp-query"},
            timeout=TIMEOUT,
        )
        answer.raise_for_status()
    except requests.RequestException as error:
        raise UserError(
            f"{authority}: no answer ({type(error).__name__}); {file} is signed and has no stamp"
        ) from None
    return answer.content


def verify_statement(
    file: Path, root: Path | None = None, key: Path | None = None
) -> tuple[list[str], bool]:
    """Check signature, register and time stamp of a statement without the network.

    Returns a line for each result, and whether all is well. Without a root certificate, a stamp is
    compared with the file, and reported as not checked. Raises UserError for a file that cannot be
    read.
    """
    envelope = _envelope(file)
    public = key or file.with_suffix(PUBLIC)
    signature, signed = _check_signature(envelope, _public_key(public), given=key is not None)
    lines = [f"signature: {signature}"]
    if not signed:
        return lines, False
    register, unchanged = _check_register(envelope.payload, file)
    stamped, valid = _check_stamp(file, root)
    lines += [f"register: {line}" for line in register]
    return [*lines, f"time stamp: {stamped}"], unchanged and valid


def _check_signature(envelope: Envelope, key: SSlibKey, *, given: bool) -> tuple[str, bool]:
    from securesystemslib.exceptions import VerificationError

    if envelope.payload_type != PAYLOAD:
        return f"of a payload of another type, {envelope.payload_type}", False
    try:
        envelope.verify([key], threshold=1)
    except VerificationError:
        return f"WRONG; it is not by the key {key.keyid}", False
    whose = "the given key" if given else "the key beside the statement; ask the signer for its id"
    return f"valid, by key {key.keyid} ({whose})", True


def _check_register(payload: bytes, file: Path) -> tuple[list[str], bool]:
    from journeylab.claims.attestation import differences
    from journeylab.claims.theorems import read_theorems

    register, theorems = current_register(), read_theorems(CLAIMS)
    try:
        stated = _predicate(payload)
        changed = list(differences(stated, register, theorems))
        at = f" at commit {stated['commit'][:12]}" if stated["commit"] else ""
        how = f"signed{at} with journeylab {stated['journeylab']}"
        claims = len(stated["claims"])
    except MALFORMED:
        raise UserError(f"{file}: its payload is no statement on a register") from None
    if not changed:
        return [f"unchanged, {claims} claims, {how}"], True
    return [f"CHANGED since it was {how}", *changed], False


def _predicate(payload: bytes) -> Mapping[str, Any]:
    from journeylab.claims.attestation import PREDICATE, is_consistent

    statement = json.loads(payload)
    if statement["predicateType"] != PREDICATE or not is_consistent(statement):
        raise ValueError("not of this type, or with another digest than its subject")
    predicate: Mapping[str, Any] = statement["predicate"]
    return predicate


def _check_stamp(file: Path, root: Path | None) -> tuple[str, bool]:
    from rfc3161_client import VerificationError, VerifierBuilder

    path = file.with_suffix(STAMP)
    if not path.exists():
        return "none; `journeylab witness --authority URL` adds one", True
    response = _response(path)
    stamped = response.tst_info
    when = f"{stamped.gen_time:%Y-%m-%d %H:%M:%S} UTC"
    content = file.read_bytes()
    hashes = (hashlib.new(name, content).digest() for name in IMPRINTS)
    if stamped.message_imprint.message not in hashes:
        return "WRONG (it stamps another file)", False
    if root is None:
        return f"{when}, NOT CHECKED; give the authority's root certificate with --root", True
    verifier = VerifierBuilder().add_root_certificate(_certificate(root)).build()
    try:
        verifier.verify_message(response, content)
    except VerificationError as error:
        return f"WRONG ({error})", False
    return f"valid, {when}, by an authority under {root}", True


def _signer(path: Path) -> CryptoSigner:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    try:
        return CryptoSigner(load_pem_private_key(path.read_bytes(), password=None))
    except FileNotFoundError:
        raise UserError(f"{path} is missing; `journeylab witness --new-key` makes it") from None
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: no private key that can sign ({error})") from None


def _public_bytes(path: Path) -> bytes:
    """The public key of a private key, as PEM."""
    from cryptography.hazmat.primitives import serialization

    private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _public_key(path: Path) -> SSlibKey:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(load_pem_public_key(path.read_bytes()))
    except FileNotFoundError:
        raise UserError(f"{path} is missing; give the signer's public key with --key") from None
    except ValueError as error:
        raise UserError(f"{path}: no public key ({error})") from None


def _envelope(file: Path) -> Envelope:
    from securesystemslib.dsse import Envelope

    try:
        return Envelope.from_dict(json.loads(file.read_bytes()))
    except FileNotFoundError:
        raise UserError(f"{file} is missing") from None
    except Exception as error:  # what the library raises for a malformed envelope is not stated
        raise UserError(f"{file}: no signed statement ({type(error).__name__}: {error})") from None


def _response(path: Path) -> TimeStampResponse:
    from rfc3161_client import decode_timestamp_response

    try:
        response = decode_timestamp_response(path.read_bytes())
        _ = response.tst_info  # the answer of an authority that refused has none
    except ValueError as error:
        raise UserError(f"{path}: no time stamp ({error})") from None
    return response


def _certificate(path: Path) -> Any:
    from cryptography.x509 import load_pem_x509_certificate

    try:
        return load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path} is missing") from None
    except ValueError as error:
        raise UserError(f"{path}: no certificate in PEM form ({error})") from None

"""What comes in through the channel is checked; nothing that comes in ends the listener."""

import json
import os
import socket

import pytest

from gradscope.channel import address
from gradscope.channel.listener import Listener
from gradscope.channel.messages import LONGEST
from gradscope.errors import UsageError
from gradscope.model.request import ArmedProgram, RecordRequest

STRANGE = [b"", b"{", b"[]", b"3", b'"x"', b"\xff\xfe", b"null", b"[" * 100_000]


@pytest.fixture
def listener(channel_folder):
    left = []
    one = Listener(lambda message, peer: {"heard": RecordRequest.read(message).steps}, left.append)
    one.open()
    one.seen_leaving = left
    yield one
    one.close()


def connected():
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(address.socket_of(os.getpid())))
    connection.settimeout(60)
    return connection


def answer(connection, line):
    connection.sendall(line + b"\n")
    return json.loads(connection.makefile().readline())


def test_only_the_owner_may_enter(listener, channel_folder):
    assert channel_folder.stat().st_mode & 0o777 == 0o700
    assert address.socket_of(os.getpid()).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("line", STRANGE[:-1], ids=range(len(STRANGE) - 1))
def test_what_is_no_message_is_refused(listener, line):
    with connected() as connection:
        assert "refused" in answer(connection, line)
        assert answer(connection, json.dumps(RecordRequest(7).message()).encode()) == {"heard": 7}


def test_a_message_without_end_is_hung_up_on(listener):
    with connected() as connection:
        try:
            while True:
                connection.sendall(b"x" * LONGEST)
        except OSError:
            pass
    with connected() as connection:
        assert "refused" in answer(connection, b"{}")


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"steps": True}, {"steps": "3"}, {"steps": 10**15}, {"detail": "all"}, {"at": -1}, {"at": 1.5}],
    ids=str,
)
def test_what_makes_no_sense_is_no_request(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        RecordRequest.read({**RecordRequest().message(), **wrong})


def test_a_request_comes_as_it_was_sent():
    request = RecordRequest(3, "nodes", 9)
    assert RecordRequest.read(json.loads(json.dumps(request.message()))) == request


def test_a_program_comes_as_it_was_sent():
    program = ArmedProgram(3, "train", 9, 0, 2, "group", "a.gscope", True)
    assert ArmedProgram.read(json.loads(json.dumps(program.message()))) == program


def test_a_folder_that_others_may_enter_is_refused(channel_folder):
    channel_folder.chmod(0o755)
    with pytest.raises(UsageError, match="not a folder of yours alone"):
        Listener(lambda message, peer: None, lambda peer: None).open()


def test_a_folder_that_is_a_link_is_refused(channel_folder, monkeypatch):
    link = channel_folder / "link"
    link.symlink_to(channel_folder)
    monkeypatch.setenv(address.VARIABLE, str(link))
    with pytest.raises(UsageError, match="not a folder of yours alone"):
        address.made()


def test_who_goes_is_noticed(listener):
    with connected() as connection:
        answer(connection, b"{}")
    with connected() as connection:
        answer(connection, b"{}")  # answered in turn
    assert len(listener.seen_leaving) >= 1  # the second may have been noticed, too


def test_it_goes_on_after_a_fork_of_the_process(listener):
    listener.stop()
    listener.start()
    with connected() as connection:
        assert "refused" in answer(connection, b"{}")

"""A disk that can be made to stop answering: a FUSE file system that shows a folder, run as a process of its own.

``python slow_disk.py FOLDER MOUNTPOINT`` speaks the kernel's protocol (include/uapi/linux/fuse.h) itself, so that no
library is needed. While the process is stopped (SIGSTOP), whoever uses the mount point is blocked in the kernel, as by
a network file system whose server is away; nothing is lost, and SIGCONT ends it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_HEADER = struct.Struct("=IIQQIIIHH")  # length, opcode, unique, node, uid, gid, pid, 2 of no interest
_ANSWER = struct.Struct("=IiQ")  # length, error, unique
_ATTRIBUTES = struct.Struct("=6Q10I")
_READ = struct.Struct("=QQI")  # handle, offset, size
_MAX_WRITE = 1 << 17
_ROOT = 1
#: SETATTR, MKDIR, UNLINK, RMDIR, RENAME, LINK, WRITE, CREATE, RENAME2
_CHANGES = (4, 9, 10, 11, 12, 13, 16, 35, 45)


class Files:
    """The answers to the kernel's requests, from a folder of another file system. Nothing is cached by the kernel."""

    def __init__(self, root: str) -> None:
        self._error = f"{root}.error"
        self._paths = {_ROOT: root}
        self._nodes = {root: _ROOT}
        self.answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: lambda node, data: self._entry(self._child(node, data)),  # LOOKUP
            3: lambda node, data: self._attributes(node),  # GETATTR
            4: self._set_attributes,
            9: self._make_folder,
            10: lambda node, data: _nothing(os.unlink(self._child(node, data))),
            11: lambda node, data: _nothing(os.rmdir(self._child(node, data))),
            12: lambda node, data: self._rename(node, data, 8),
            13: self._link,
            14: lambda node, data: self._open(node, struct.unpack_from("=I", data)[0]),
            15: lambda node, data: os.pread(*_pread(data)),
            16: self._write,
            17: lambda node, data: struct.pack(
                "=5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0
            ),
            18: lambda node, data: _nothing(os.close(struct.unpack_from("=Q", data)[0])),  # RELEASE
            20: lambda node, data: b"",  # FSYNC
            26: lambda node, data: struct.pack("=4I2H2I2H8I", 7, 31, 1 << 17, 0, 12, 9, _MAX_WRITE, 1, 32, 0, *[0] * 8),
            27: lambda node, data: struct.pack("=QII", 0, 0, 0),  # OPENDIR
            28: self._read_folder,
            29: lambda node, data: b"",  # RELEASEDIR
            35: self._create,
            45: lambda node, data: self._rename(node, data, 16),  # RENAME2
        }

    def answer(self, opcode: int, node: int, data: bytes) -> bytes:
        """
        Raises:
            OSError: it cannot be done.
        """
        if opcode not in self.answers:
            raise OSError(errno.ENOSYS, "")
        if opcode in _CHANGES and os.path.exists(self._error):
            with open(self._error) as told:
                raise OSError(int(told.read()), "")
        return self.answers[opcode](node, data)

    def _child(self, node: int, name: bytes) -> str:
        return os.path.join(self._paths[node], name.split(b"\0")[0].decode())

    def _node(self, path: str) -> int:
        if path not in self._nodes:
            self._nodes[path] = len(self._nodes) + 1
            self._paths[self._nodes[path]] = path
        return self._nodes[path]

    def _entry(self, path: str) -> bytes:
        attributes = _attributes(path)  # an error before the node is made
        return struct.pack("=4Q2I", self._node(path), 0, 0, 0, 0, 0) + attributes

    def _attributes(self, node: int) -> bytes:
        return struct.pack("=QII", 0, 0, 0) + _attributes(self._paths[node])

    def _set_attributes(self, node: int, data: bytes) -> bytes:
        valid, _, _, size, _, atime, mtime, _, atime_ns, mtime_ns, _, mode = struct.unpack_from("=IIQQQQQQIIII", data)
        path = self._paths[node]
        if valid & 1:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & 8:
            os.truncate(path, size)
        if valid & (128 | 256):
            os.utime(path)
        elif valid & (16 | 32):
            os.utime(path, ns=(atime * 10**9 + atime_ns, mtime * 10**9 + mtime_ns))
        return self._attributes(node)

    def _make_folder(self, node: int, data: bytes) -> bytes:
        path = self._child(node, data[8:])
        os.mkdir(path, struct.unpack_from("=I", data)[0])
        return self._entry(path)

    def _rename(self, node: int, data: bytes, skip: int) -> bytes:
        (target,) = struct.unpack_from("=Q", data)
        old, new = data[skip:].split(b"\0")[:2]
        before, after = self._child(node, old), self._child(target, new)
        os.replace(before, after)
        moved = self._nodes.pop(before, None)
        if moved is not None:
            self._nodes[after], self._paths[moved] = moved, after
        return b""

    def _link(self, node: int, data: bytes) -> bytes:
        (source,) = struct.unpack_from("=Q", data)
        path = self._child(node, data[8:])
        os.link(self._paths[source], path)
        return self._entry(path)

    def _open(self, node: int, flags: int) -> bytes:
        return struct.pack("=QII", os.open(self._paths[node], flags & ~os.O_NOFOLLOW), 0, 0)

    def _create(self, node: int, data: bytes) -> bytes:
        flags, mode = struct.unpack_from("=II", data)
        path = self._child(node, data[16:])
        handle = os.open(path, flags | os.O_CREAT, mode)
        return self._entry(path) + struct.pack("=QII", handle, 0, 0)

    def _write(self, node: int, data: bytes) -> bytes:
        handle, offset, size = _READ.unpack_from(data)
        return struct.pack("=II", os.pwrite(handle, data[40 : 40 + size], offset), 0)

    def _read_folder(self, node: int, data: bytes) -> bytes:
        _, offset, size = _READ.unpack_from(data)
        listed = b""
        for number, name in enumerate(sorted(os.listdir(self._paths[node]))):
            text = name.encode()
            entry = struct.pack("=QQII", number + 2, number + 1, len(text), 0) + text
            entry += b"\0" * (-len(entry) % 8)
            if number >= offset:
                if len(listed) + len(entry) > size:
                    break
                listed += entry
        return listed


def _attributes(path: str) -> bytes:
    s = os.lstat(path)
    times = [(ns // 10**9, ns % 10**9) for ns in (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)]
    whole, rest = [t for t, _ in times], [ns for _, ns in times]
    about = (s.st_mode, s.st_nlink, s.st_uid, s.st_gid, 0, 4096, 0)
    return _ATTRIBUTES.pack(s.st_ino, s.st_size, s.st_blocks, *whole, *rest, *about)


def _pread(data: bytes) -> tuple[int, int, int]:
    handle, offset, size = _READ.unpack_from(data)
    return handle, size, offset


def _nothing(_: None) -> bytes:
    return b""


def serve(folder: str, mountpoint: str) -> None:
    """Mount and answer until it is unmounted.

    Raises:
        OSError: this process may not mount, or the kernel has no FUSE.
    """
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow_disk", mountpoint.encode(), b"fuse", 6, options.encode()):  # nosuid, nodev
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    files = Files(folder)
    while True:
        try:
            request = os.read(device, _MAX_WRITE + 8192)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                continue
            return  # ENODEV: unmounted
        _, opcode, unique, node, *_ = _HEADER.unpack_from(request)
        if opcode in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET: not to be answered
            continue
        code, body = 0, b""
        try:
            body = files.answer(opcode, node, request[_HEADER.size :])
        except OSError as error:
            code = -(error.errno or errno.EIO)
        try:
            os.write(device, _ANSWER.pack(_ANSWER.size + len(body), code, unique) + body)
        except OSError as error:
            if error.errno != errno.ENOENT:  # who asked was killed meanwhile
                raise


class SlowDisk:
    """``path`` is the mount point; what is written there lies in ``folder``."""

    def __init__(self, path: Path, folder: Path, server: int) -> None:
        self.path = path
        self.folder = folder
        self._server = server

    def stall(self) -> None:
        """Answer nothing until ``go_on``."""
        os.kill(self._server, signal.SIGSTOP)
        while "T (stopped)" not in Path(f"/proc/{self._server}/status").read_text():
            time.sleep(0.001)

    def go_on(self) -> None:
        os.kill(self._server, signal.SIGCONT)

    def fail(self, code: int) -> None:
        """Let every change end with this error, such as ``errno.EROFS``, until ``heal``."""
        beside = self.folder.with_suffix(".new")
        beside.write_text(str(code))
        os.replace(beside, self.folder.with_suffix(".error"))

    def heal(self) -> None:
        self.folder.with_suffix(".error").unlink()


@contextmanager
def slow_disk(tmp_path: Path) -> Iterator[SlowDisk | None]:
    """A mounted one; None where this process may not mount."""
    folder, mountpoint = tmp_path / "disk", tmp_path / "mnt"
    folder.mkdir()
    mountpoint.mkdir()
    with subprocess.Popen([sys.executable, "-S", __file__, folder, mountpoint], stderr=subprocess.PIPE) as server:
        try:
            while server.poll() is None and not os.path.ismount(mountpoint):
                time.sleep(0.005)
            yield SlowDisk(mountpoint, folder, server.pid) if server.returncode is None else None
        finally:
            if server.returncode is None:
                server.send_signal(signal.SIGCONT)
                subprocess.run(["umount", "-l", mountpoint], check=False)
                server.kill()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])

"""Runs inside: shows what is there, and does random deeds. It shares nothing with what it tests."""

import json, mmap, os, shutil, stat, zlib

if "KEPT" not in globals():
    # Mappings that stay open from call to call.
    KEPT = []
    ROOTS = {b"w": os.getcwdb(), b"h": os.environb[b"HOME"]}


def path_of(name):
    root, _, rest = name.partition(b"/")
    return os.path.join(ROOTS[root], rest) if rest else ROOTS[root]


def dump():
    shown, files = [], {}

    def visit(name):
        path = path_of(name)
        found = os.lstat(path)
        kind, mode = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode)
        need = os.R_OK | os.X_OK if kind == stat.S_IFDIR else os.R_OK
        closed = kind in (stat.S_IFDIR, stat.S_IFREG) and not os.access(path, need)
        if closed:
            os.chmod(path, 0o700)
        text, below, group = "", [], name
        if kind == stat.S_IFREG:
            with open(path, "rb") as file:
                text = f"{zlib.crc32(file.read()):08x}"
            group = files.setdefault((found.st_dev, found.st_ino), name)
        elif kind == stat.S_IFLNK:
            text = os.readlink(path).hex()
        elif kind == stat.S_IFDIR:
            below = sorted(os.listdir(path))
        try:
            listed = os.listxattr(path, follow_symlinks=False)
        except OSError:
            listed = []
        marks = [
            one + "=" + os.getxattr(path, one, follow_symlinks=False).hex()
            for one in sorted(listed)
            if one.startswith("user.") and not one.startswith("user.overlay.")
        ]
        size = found.st_size if kind == stat.S_IFREG else 0
        time = found.st_mtime_ns if kind == stat.S_IFREG else 0
        letter = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p"}
        shown.append(
            dict(name=name.hex(), kind=letter.get(kind, "?"), mode=mode, size=size, time=time,
                 text=text, group=group.hex(), marks=marks)
        )
        for one in below:
            visit(name + b"/" + one)
        if closed:
            os.chmod(path, mode)

    for root in sorted(ROOTS):
        visit(root)
    return shown


def put(path, flags, content, at=None):
    # A pipe without a reader is not waited for.
    file = os.open(path, os.O_WRONLY | os.O_NONBLOCK | flags, 0o644)
    try:
        if at is not None:
            os.lseek(file, at, os.SEEK_SET)
        os.write(file, content)
    finally:
        os.close(file)


def clear(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def into_memory(path, number):
    file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        memory = mmap.mmap(file, 0)
    finally:
        os.close(file)
    memory[number % len(memory)] = number % 251
    if number % 2:
        KEPT.append(memory)
    else:
        memory.close()


def do(what, path, other, number):
    content = bytes([65 + number % 23]) * (number % 5 * 2500 + number % 7)
    if what == "write":
        put(path, os.O_CREAT | os.O_TRUNC, content)
    elif what == "patch":
        put(path, 0, content[:3], number % 50)
    elif what == "append":
        put(path, os.O_APPEND, content)
    elif what == "truncate":
        os.truncate(path, number % 9000)
    elif what == "sparse":
        put(path, os.O_CREAT, b"end", number % 40 * 4096)
    elif what == "replace":
        new = os.path.join(os.path.dirname(path), b".new")
        put(new, os.O_CREAT | os.O_TRUNC, content)
        os.rename(new, path)
    elif what == "memory":
        into_memory(path, number)
    elif what == "again" and KEPT:
        memory = KEPT[number % len(KEPT)]
        memory[number % len(memory)] = number % 253
    elif what == "rename":
        os.rename(path, other)
    elif what == "delete":
        os.unlink(path)
    elif what == "clear":
        clear(path)
    elif what == "directory":
        os.makedirs(path)
    elif what == "becomes directory":
        clear(path)
        os.mkdir(path)
        put(os.path.join(path, b"in"), os.O_CREAT, content)
    elif what == "becomes file":
        clear(path)
        put(path, os.O_CREAT, content)
    elif what == "mode":
        os.chmod(path, [0, 0o600, 0o444, 0o755, 0o700, 0o640, 0o2750, 0o500][number % 8])
    elif what == "open up":
        os.chmod(path, 0o755)
    elif what == "link":
        os.symlink(os.path.relpath(other, os.path.dirname(path)), path)
    elif what == "name":
        os.link(path, other, follow_symlinks=False)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "mark":
        os.setxattr(path, f"user.m{number % 3}", content[:9], follow_symlinks=False)
    elif what == "unmark":
        os.removexattr(path, f"user.m{number % 3}", follow_symlinks=False)
    elif what == "time":
        os.utime(path, ns=(0, number * 1_000_000_007), follow_symlinks=False)


def everything_open():
    for root in ROOTS.values():
        for path, _, names in os.walk(root):
            for one in [path] + [os.path.join(path, name) for name in names]:
                if not os.path.islink(one):
                    os.chmod(one, 0o755)


def play(deeds, opens):
    before = dump()
    for what, name, other, number in deeds:
        try:
            do(what, path_of(bytes.fromhex(name)), path_of(bytes.fromhex(other)), number)
        except (OSError, ValueError):
            # Many do not fit to what is there; those that do are enough.
            pass
    if opens:
        everything_open()
    after = dump()
    roots = {name.decode(): path.decode() for name, path in ROOTS.items()}
    print(json.dumps(dict(before=before, after=after, roots=roots)))

# Loaded by the interpreter before the program, in runs without AIR only. Tells what the program
# does; changes nothing of it.
import os, sys

_out = int(os.environ.pop("BENCH_HOOKS_FD", "-1"))
_want = os.environ.pop("BENCH_HOOKS", "")
_left = 4000


def _tell(kind, *parts):
    global _left
    if _out < 0 or _left <= 0:
        return
    _left -= 1
    text = "\t".join([kind, *[str(part).replace("\t", " ").replace("\n", " ")[:200] for part in parts]])
    try:
        os.write(_out, (text + "\n").encode("utf-8", "replace"))
    except OSError:
        pass


def _main_is_running():
    return bool(getattr(sys.modules.get("__main__"), "__file__", None))


def _audit(event, arguments):
    if event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class"):
        if _main_is_running():
            _tell("call", event)
    elif event == "ctypes.dlsym":
        _tell("call", "ctypes.dlsym", arguments[1])
    elif event == "marshal.loads":
        frame = sys._getframe(1)
        name = frame.f_code.co_filename
        if not name.startswith("<frozen ") and "importlib" not in name and _main_is_running():
            _tell("call", event)
    elif event == "open" and isinstance(arguments[0], str) and arguments[0].startswith(("/proc/stat", "/proc/net/dev")):
        _tell("call", "open", arguments[0])


sys.addaudithook(_audit)

if "trace" in _want:
    _loaders = {
        ("_pickle", "loads"), ("_pickle", "load"), ("pickle", "loads"), ("pickle", "load"),
        ("marshal", "loads"), ("marshal", "load"), ("builtins", "eval"), ("builtins", "exec"),
    }

    def _profile(frame, event, argument):
        if event == "call":
            code = frame.f_code
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            if main is None:
                return
            if code.co_filename == main:
                back = frame.f_back
                caller = back.f_code.co_name if back and back.f_code.co_filename == main else ""
                if not code.co_name.startswith("<"):
                    _tell("function", code.co_name, caller)
            elif code.co_name in ("decode", "loads", "load", "load_all", "unsafe_load", "full_load", "open", "thaw"):
                name = code.co_filename.replace(os.sep, "/")
                caller = frame.f_back.f_code.co_filename if frame.f_back else ""
                for library in ("/jsonpickle/", "/dill/", "/cloudpickle/", "/joblib/"):
                    if library in name and caller == main:
                        _tell("call", library.strip("/") + "." + code.co_name)
                if "/yaml/" in name and caller == main and "load" in code.co_name:
                    loader = getattr(frame.f_locals.get("Loader"), "__name__", "")
                    if code.co_name == "unsafe_load" or loader in ("Loader", "UnsafeLoader", "CLoader"):
                        _tell("call", "yaml." + code.co_name)
                if name.endswith("/shelve.py") and code.co_name == "open" and caller == main:
                    _tell("call", "shelve.open")
        elif event == "c_call":
            module = getattr(argument, "__module__", None) or ""
            name = getattr(argument, "__name__", "")
            if not module:
                owner = getattr(argument, "__self__", None)
                module = type(owner).__module__ if owner is not None else ""
            if (module, name) in _loaders:
                main = getattr(sys.modules.get("__main__"), "__file__", None)
                if main is not None and frame.f_code.co_filename == main:
                    _tell("call", module.lstrip("_") + "." + name)

    sys.setprofile(_profile)
    import threading

    threading.setprofile(_profile)

if "seed" in _want:
    import random as _random
    import time as _time

    def _told(value):
        clock = False
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            now = _time.time()
            clock = any(abs(value - now * unit) < 2 * 86400 * unit for unit in (1, 1e3, 1e6, 1e9))
            size = max(1, (int(abs(value)).bit_length() + 7) // 8)
        elif isinstance(value, (bytes, bytearray, str)):
            size = len(value)
        else:
            size = 1
        _tell("seed", size, int(clock), repr(value))

    _class_seed = _random.Random.seed

    def _seed(self, a=None, version=2):
        if a is not None:
            _told(a)
        return _class_seed(self, a, version)

    def _module_seed(a=None, version=2):
        if a is not None:
            _told(a)
        return _class_seed(_random._inst, a, version)

    _random.Random.seed = _seed
    _random.seed = _module_seed

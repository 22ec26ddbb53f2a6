"""Runs the steps of one session in one namespace. Started by the supervisor, never by hand.

Requests come on what was standard input, replies go to what was standard output; the steps get
neither. What they need to survive is bound to locals: a step may patch any module.
"""


def main():
    import ast
    import json
    import os
    import sys
    import traceback
    import types

    requests = os.fdopen(os.dup(0), "rb")
    reply_fd = os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout.reconfigure(errors="backslashreplace")
    if not sys.flags.isolated:
        # The directory of this driver.
        del sys.path[0]
    sys.path.insert(0, "")
    sys.argv = [""]

    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    space = module.__dict__
    space["__builtins__"] = __builtins__
    me = os.getpid()
    getpid, write, leave, loads, dumps = os.getpid, os.write, os._exit, json.loads, json.dumps
    parse, body_of, value_of = ast.parse, ast.Module, ast.Expression
    last_kind, run, make = ast.Expr, exec, compile
    evaluate = eval
    show, describe = traceback.format_exception, traceback.format_exception_only

    def emit(fd, data):
        while data:
            data = data[write(fd, data):]

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    def step(source, name):
        tree = parse(source, name)
        last = None
        if tree.body and isinstance(tree.body[-1], last_kind):
            last = value_of(tree.body.pop().value)
        run(make(body_of(tree.body, []), name, "exec", dont_inherit=True), space)
        if last is not None:
            sys.displayhook(evaluate(make(last, name, "eval", dont_inherit=True), space))

    while True:
        line = requests.readline()
        if not line:
            leave(0)
        request = loads(line)
        error, ended = None, False
        try:
            step(request["source"], request["path"])
        except SystemExit as exit:
            error, ended = f"SystemExit: {exit.code}", True
        except BaseException as raised:
            # The frames of this driver say nothing to the agent.
            trace = raised.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            error = "".join(describe(type(raised), raised)).strip().splitlines()[-1]
            text = "".join(show(type(raised), raised, trace))
            flush()
            emit(2, text.encode("utf-8", "backslashreplace"))
        flush()
        if getpid() != me:
            # A fork that ran to the end of the step must not answer for its parent.
            leave(0)
        emit(reply_fd, dumps({"error": error, "ended": ended}).encode() + b"\n")
        if ended:
            leave(0)


main()

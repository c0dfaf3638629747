"""Many clients at once: how many searches a second a server answers."""

import multiprocessing
import socket
import time


def raw(peer, mode, query):
    """A request as the bytes that go over the wire."""
    method, target, headers, body = peer.request(mode, query)
    body = (body or "").encode()
    headers = {"Host": peer.address, **headers, "Content-Length": len(body)}
    lines = [f"{method} {target} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def receive(connection):
    """Reads one answer, by its length or in chunks. What it says does not matter here, that it is a good one does."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536) or hang_up()
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise RuntimeError(head.decode())
    length = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while len(body) < length[0] if length else not body.endswith(b"0\r\n\r\n"):
        body += connection.recv(65536) or hang_up()


def hang_up():
    raise ConnectionError("the server closed the connection")


def client(host, port, requests, begin, seconds, answers):
    connection = socket.create_connection((host, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin.wait()
    begun, done = time.perf_counter(), 0
    while (now := time.perf_counter()) < begun + seconds:
        connection.sendall(requests[done % len(requests)])
        receive(connection)
        done += 1
    answers.put((done, now - begun))


def searches_a_second(peer, mode, queries, seconds, clients=8):
    """Answers a second to clients that each ask their next query when the last is answered; no two ask the same."""
    host, port = peer.address.split(":")
    begin, answers = multiprocessing.Barrier(clients), multiprocessing.Queue()
    shares = [[raw(peer, mode, query) for query in queries[at::clients]] for at in range(clients)]
    tasks = [(host, int(port), share, begin, seconds, answers) for share in shares]
    processes = [multiprocessing.Process(target=client, args=task, daemon=True) for task in tasks]
    for process in processes:
        process.start()
    counts = [answers.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    return sum(done / took for done, took in counts)

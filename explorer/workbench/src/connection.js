// The WebSocket to the server. Messages are those of the language server's protocol.

/** A transport for the client of the language server. `ended` is told when the connection is lost. */
export function connect(ended) {
  const address = new URL("/edit/socket", location.href);
  address.protocol = "ws:";
  const socket = new WebSocket(address);
  const handlers = new Set();
  const waiting = [];
  socket.addEventListener("open", () => waiting.splice(0).forEach((message) => socket.send(message)));
  socket.addEventListener("message", (event) => [...handlers].forEach((handler) => handler(event.data)));
  socket.addEventListener("close", ended);
  return {
    send(message) {
      if (socket.readyState === WebSocket.CONNECTING) waiting.push(message);
      else if (socket.readyState === WebSocket.OPEN) socket.send(message);
      else throw new Error("the connection to the server is lost");
    },
    subscribe: (handler) => handlers.add(handler),
    unsubscribe: (handler) => handlers.delete(handler),
  };
}

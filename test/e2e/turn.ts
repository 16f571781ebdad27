import { createServer } from 'turn-server'
import { ownPort } from '../support/ownPort.ts'

/** A TURN server on this machine, which relays to this machine too. */
export interface Turn {
  /** As `webrtc.iceServers` takes it. */
  readonly entry: string
  stop(): Promise<void>
}

export async function startTurn(): Promise<Turn> {
  const server = createServer({
    auth: { mechanism: 'long-term', realm: 'test', credentials: { guest: 'secret' } },
    relay: { ip: '127.0.0.1', externalIp: '127.0.0.1' },
    allowLoopback: true,
  })
  const port = await ownPort()
  await new Promise<void>((resolve) => server.listen([{ port, address: '127.0.0.1', transport: 'udp' }], resolve))
  return {
    entry: `turn:127.0.0.1:${port}?transport=udp guest secret`,
    stop: () => new Promise((resolve) => server.stop(resolve)),
  }
}

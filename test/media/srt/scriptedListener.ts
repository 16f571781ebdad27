import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import type { ManualClock } from '../../../src/base/clock.ts'
import { answerAdmitted, answerInduction } from '../../../src/media/srt/handshake.ts'
import { CONTROL, type DataPacket, readPacket, writeControl } from '../../../src/media/srt/packets.ts'

/** What a caller asked for that sent nothing of note. */
export const request = { streamId: '', latencyMs: 120, flags: 0, keyMessage: null }

/** Agrees to what a caller asks for. */
export const agree = (sequence: number): Buffer =>
  answerAdmitted({ sequence, socketId: 55, latencyMs: 120, request, keyBits: null })

/** As often as a target looks after its call. */
export const LOOK_MS = 250

/** Of what receives: as often as it acknowledges. */
export const TICK_MS = 10

/** Lets time pass, with each look that a target takes meanwhile, or another one that looks each `everyMs`. */
export async function passes(clock: ManualClock, ms: number, everyMs = LOOK_MS): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
    clock.advance(everyMs)
    await setImmediate()
  }
}

/** A listener of which the test decides what it answers. */
export class ScriptedListener {
  readonly socket: Socket
  readonly port: number
  readonly sequences: number[] = []
  readonly data: DataPacket[] = []
  readonly controls: number[] = []
  /** How many at once; more than one is as after a pause. */
  answersOfInduction = 1
  callerPort = 0
  callerId = 0
  /** What a conclusion is answered with; null: nothing. */
  conclude: ((sequence: number, body: Buffer) => Buffer) | null

  private constructor(socket: Socket, conclude: ScriptedListener['conclude']) {
    this.socket = socket
    this.port = socket.address().port
    this.conclude = conclude
    socket.on('message', (datagram, { port }) => this.#take(datagram, port))
  }

  static async open(conclude: ScriptedListener['conclude']): Promise<ScriptedListener> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new ScriptedListener(socket, conclude)
  }

  close(): void {
    this.socket.close()
  }

  control(type: number, body: Buffer, info = 0): void {
    this.socket.send(
      writeControl({ type, info, socketId: this.callerId, timeUs: 0, body }),
      this.callerPort,
      '127.0.0.1',
    )
  }

  #take(datagram: Buffer, port: number): void {
    const packet = readPacket(datagram)
    this.callerPort = port
    if (packet?.kind === 'data') {
      this.sequences.push(packet.sequence)
      this.data.push(packet)
    } else if (packet?.type === CONTROL.handshake) this.#answer(packet.body)
    else if (packet !== null) this.controls.push(packet.type)
  }

  #answer(body: Buffer): void {
    const [sequence, type] = [body.readUInt32BE(8), body.readUInt32BE(20)]
    this.callerId = body.readUInt32BE(24)
    const fixed = { version: 5, sequence, socketId: this.callerId, cookie: 0 }
    const answer = type === 1 ? answerInduction(fixed, 99) : (this.conclude?.(sequence, body) ?? null)
    if (answer === null) return
    const times = type === 1 ? this.answersOfInduction : 1
    for (let sent = 0; sent < times; sent++) this.control(CONTROL.handshake, answer)
  }
}

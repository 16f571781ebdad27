import type { LateLooks } from '../../base/lateLooks.ts'
import { Room } from './room.ts'

/** The rooms of a process, by name. A room exists while it has a source or a viewer. */
export class Rooms {
  readonly #rooms = new Map<string, Room>()

  at(name: string): Room | undefined {
    return this.#rooms.get(name)
  }

  /** The room of this name, which is created if need be. */
  open(name: string): Room {
    const room = this.#rooms.get(name) ?? new Room()
    this.#rooms.set(name, room)
    return room
  }

  closeIfEmpty(name: string): void {
    if (this.#rooms.get(name)?.isEmpty === true) this.#rooms.delete(name)
  }

  /** See `Room.withoutSource`. */
  withoutSource(nowMs: number, looks: Pick<LateLooks, 'lastedMs'>): string[] {
    return [...this.#rooms.values()].flatMap((room) => room.withoutSource(nowMs, looks))
  }
}

import { type Executor, statement, Verbs } from '../executor.ts'

const mediaOf = statement((db, p: { id: string }) => db.selectFrom('slates').select('media').where('id', '=', p.id))

const insert = statement((db, p: { id: string; channelId: string; media: Uint8Array }) =>
  db.insertInto('slates').values({ id: p.id, channel_id: p.channelId, media: p.media }),
)

const remove = statement((db, p: { channelId: string }) =>
  db.deleteFrom('slates').where('channel_id', '=', p.channelId),
)

export class SlateReadVerbs extends Verbs {
  /** The file of a slate. Undefined: the channel has another slate, or none. */
  async media(id: string): Promise<Uint8Array | undefined> {
    return (await this.executor.first(mediaOf, { id }))?.media
  }
}

export async function insertSlateMedia(
  executor: Executor,
  channelId: string,
  id: string,
  media: Uint8Array,
): Promise<void> {
  await executor.run(insert, { id, channelId, media })
}

export async function deleteSlateMedia(executor: Executor, channelId: string): Promise<void> {
  await executor.run(remove, { channelId })
}

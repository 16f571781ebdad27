import { statement, Verbs } from '../executor.ts'

const mediaOf = statement((db, p: { id: string }) => db.selectFrom('slates').select('media').where('id', '=', p.id))

/** The media of a slate, which its channel has one of. */
export const insertSlate = statement((db, p: { id: string; channelId: string; media: Uint8Array }) =>
  db.insertInto('slates').values({ id: p.id, channel_id: p.channelId, media: p.media }),
)

export const deleteSlate = statement((db, p: { channelId: string }) =>
  db.deleteFrom('slates').where('channel_id', '=', p.channelId),
)

export class SlateReadVerbs extends Verbs {
  async media(id: string): Promise<Uint8Array | undefined> {
    return (await this.executor.first(mediaOf, { id }))?.media
  }
}

import type { Kysely } from 'kysely'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { upsertion } from '../rowTable.ts'
import type { DB } from '../schema.ts'
import type { Provisioned } from '../store.ts'

interface Name {
  accountId: string
  kind: string
  name: string
}

const ofAccount = (db: Kysely<DB>, p: Pick<Name, 'accountId'>) =>
  db
    .selectFrom('provisioned')
    .select(fieldsOf('provisioned', ['kind', 'name', 'resource_id']))
    .where('account_id', '=', p.accountId)

const list = statement((db, p: Pick<Name, 'accountId'>) => ofAccount(db, p).orderBy('kind').orderBy('name'))

const get = statement((db, p: Name) => ofAccount(db, p).where('kind', '=', p.kind).where('name', '=', p.name))

const put = upsertion({ table: 'provisioned', key: ['account_id', 'kind', 'name'] })

const remove = statement((db, p: Name) =>
  db
    .deleteFrom('provisioned')
    .where('account_id', '=', p.accountId)
    .where('kind', '=', p.kind)
    .where('name', '=', p.name),
)

export class ProvisionedTxVerbs extends Verbs {
  list(accountId: string): Promise<Provisioned[]> {
    return this.executor.all(list, { accountId })
  }

  get(accountId: string, { kind, name }: Pick<Provisioned, 'kind' | 'name'>): Promise<Provisioned | undefined> {
    return this.executor.first(get, { accountId, kind, name })
  }

  async put(accountId: string, row: Provisioned): Promise<void> {
    await put(this.executor, [{ ...row, accountId }])
  }

  async delete(accountId: string, { kind, name }: Pick<Provisioned, 'kind' | 'name'>): Promise<void> {
    await this.executor.run(remove, { accountId, kind, name })
  }
}

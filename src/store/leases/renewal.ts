import type { SqlDialect, Query } from '../executor.ts'
import { senderRenewal } from '../tables/deliveryNodes.ts'
import { engineRenewal, runRenewal } from '../tables/engineStates.ts'
import { nodeRenewal } from '../tables/nodes.ts'
import type { Lease, LeaseKind } from './types.ts'

/** The compiled statements that renew one lease, so that the renewer needs only a connection. */
export interface Renewal {
  readonly id: string
  readonly leaseMs: number
  readonly statements: readonly Query[]
  /** True: the holder was given up if the first statement finds nothing to renew. */
  readonly endsWithHolder: boolean
  /** Lower ranks come first: locked rows of other leases must not delay those of sessions. */
  readonly rank: number
}

const ORDER: readonly LeaseKind[] = ['node', 'deliveries', 'engines']

export const renewalOf = (dialect: SqlDialect, lease: Lease): Renewal => ({
  id: lease.id,
  leaseMs: lease.leaseMs,
  statements: statementsOf(dialect, lease),
  endsWithHolder: lease.kind === 'node',
  rank: ORDER.indexOf(lease.kind),
})

function statementsOf(dialect: SqlDialect, { kind, id, leaseMs }: Lease): Query[] {
  switch (kind) {
    case 'node':
      return [nodeRenewal(dialect, { id, leaseMs })]
    case 'deliveries':
      return [senderRenewal(dialect, { id, leaseMs })]
    case 'engines':
      return [engineRenewal(dialect, { id, leaseMs }), runRenewal(dialect, { id })]
  }
}

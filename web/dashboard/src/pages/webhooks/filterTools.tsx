import { PastRangeSelect } from '../../parts/pastRangeSelect.tsx'
import { setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import { type DeliveryFilters, STATES, TYPES } from './deliveryFilters.ts'

const text = words.webhooks

/** Chooses the deliveries of the list; what is chosen stands in the address. */
export function FilterTools({ filters: { state, type, range } }: { readonly filters: DeliveryFilters }) {
  return (
    <div class="tools">
      <select
        class="select auto"
        aria-label={text.state}
        value={state ?? ''}
        onChange={({ currentTarget }) => setQuery({ state: currentTarget.value || undefined })}
      >
        <option value="">{text.anyState}</option>
        {STATES.map((one) => (
          <option key={one} value={one}>
            {text.states[one]}
          </option>
        ))}
      </select>
      <select
        class="select auto"
        aria-label={text.event}
        value={type ?? ''}
        onChange={({ currentTarget }) => setQuery({ type: currentTarget.value || undefined })}
      >
        <option value="">{text.anyEvent}</option>
        {TYPES.map((one) => (
          <option key={one} value={one}>
            {text.types[one]}
          </option>
        ))}
      </select>
      <PastRangeSelect
        value={range}
        onChange={(chosen) => setQuery({ range: chosen === 'all' ? undefined : chosen })}
      />
    </div>
  )
}

-- Vouchers, their redemptions, their customers' counts, and the history of all of it.
--
-- Conventions. Text is compared byte by byte (COLLATE "C"): codes and ids are ASCII, and every process and every store
-- must put them in the same order. Columns of a fixed width come first, so that no row pays for alignment. Constraints
-- have names, since the program tells them apart by name.

-- +goose Up

CREATE TABLE voucher (
    discount_amount  bigint      NOT NULL,
    min_order_amount bigint      NOT NULL,
    epoch            bigint      NOT NULL,
    drained_epoch    bigint      NOT NULL,
    sequence         bigint      NOT NULL,
    change_number    bigint      NOT NULL,
    starts_at        timestamptz NOT NULL,
    ends_at          timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    total_limit      integer     NOT NULL,
    used_count       integer     NOT NULL,
    per_user_limit   integer     NOT NULL,
    partition        integer,
    paused           boolean     NOT NULL,
    code             text        COLLATE "C" NOT NULL,
    mode             text        COLLATE "C" NOT NULL,
    config_mode      text        COLLATE "C",

    CONSTRAINT voucher_pkey PRIMARY KEY (code),
    CONSTRAINT voucher_code_form CHECK (code ~ '^[A-Z0-9][A-Z0-9_-]{0,31}$'),
    CONSTRAINT voucher_discount_amount_range CHECK (discount_amount BETWEEN 1 AND 9007199254740991),
    CONSTRAINT voucher_min_order_amount_range CHECK (min_order_amount BETWEEN 0 AND 9007199254740991),
    CONSTRAINT voucher_total_limit_range CHECK (total_limit >= 1),
    CONSTRAINT voucher_per_user_limit_range CHECK (per_user_limit >= 1),
    CONSTRAINT voucher_used_count_not_negative CHECK (used_count >= 0),
    CONSTRAINT voucher_used_count_within_limit CHECK (used_count <= total_limit),
    CONSTRAINT voucher_window CHECK (starts_at < ends_at),
    CONSTRAINT voucher_mode_known CHECK (mode IN ('standard', 'flash-sync', 'flash-async')),
    CONSTRAINT voucher_config_mode_known CHECK (config_mode IN ('standard', 'flash-sync', 'flash-async')),
    CONSTRAINT voucher_epoch_not_negative CHECK (epoch >= 0),
    CONSTRAINT voucher_drained_epoch_range CHECK (drained_epoch BETWEEN 0 AND epoch),
    CONSTRAINT voucher_sequence_not_negative CHECK (sequence >= 0),
    CONSTRAINT voucher_change_number_not_negative CHECK (change_number >= 0),
    CONSTRAINT voucher_partition_not_negative CHECK (partition >= 0)
) WITH (
    -- The counter is written all the time. With room on its page and no index over what changes, each write stays on
    -- the page and cleans up after the ones before it (a heap-only update).
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000
);

-- One row for each order that ever had a reservation on a voucher; a later reservation of the same order takes over
-- the row with a higher version, which is (epoch, sequence).
CREATE TABLE voucher_redemption (
    customer_id     bigint      NOT NULL,
    order_amount    bigint      NOT NULL,
    discount_amount bigint      NOT NULL,
    epoch           bigint      NOT NULL,
    sequence        bigint      NOT NULL,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    confirmed_at    timestamptz,
    released_at     timestamptz,
    voucher_code    text        COLLATE "C" NOT NULL,
    order_id        text        COLLATE "C" NOT NULL,
    status          text        COLLATE "C" NOT NULL,
    release_reason  text        COLLATE "C",

    CONSTRAINT voucher_redemption_pkey PRIMARY KEY (voucher_code, order_id),
    CONSTRAINT voucher_redemption_voucher FOREIGN KEY (voucher_code) REFERENCES voucher (code),
    CONSTRAINT voucher_redemption_order_id_length CHECK (length(order_id) BETWEEN 1 AND 64),
    CONSTRAINT voucher_redemption_customer_id_positive CHECK (customer_id >= 1),
    CONSTRAINT voucher_redemption_order_amount_range CHECK (order_amount BETWEEN 1 AND 9007199254740991),
    CONSTRAINT voucher_redemption_discount_amount_range CHECK (discount_amount BETWEEN 1 AND order_amount),
    CONSTRAINT voucher_redemption_epoch_not_negative CHECK (epoch >= 0),
    CONSTRAINT voucher_redemption_sequence_not_negative CHECK (sequence >= 0),
    CONSTRAINT voucher_redemption_status_known CHECK (status IN ('RESERVED', 'CONFIRMED', 'RELEASED')),
    CONSTRAINT voucher_redemption_release_reason_known
        CHECK (release_reason IN ('CANCELLED', 'EXPIRED', 'ORDER_CONFLICT')),
    CONSTRAINT voucher_redemption_end_fits_status CHECK (
        (confirmed_at IS NOT NULL) = (status = 'CONFIRMED')
        AND (released_at IS NOT NULL) = (status = 'RELEASED')
        AND (release_reason IS NOT NULL) = (status = 'RELEASED'))
);

-- One order, one live use, on whichever voucher.
CREATE UNIQUE INDEX voucher_redemption_live_order ON voucher_redemption (order_id) WHERE status <> 'RELEASED';

-- Lists and counts of a voucher. Versions are cut into runs of 64 that share one key:
-- equal keys are stored once, so an entry costs 8 bytes instead of 50, and a list sorts one run at a time.
-- The predicate always holds. A query that doesn't state it can't use this index: so the planner, who knows nothing yet
-- of a voucher that got hot a minute ago, is not tempted to look for one order among all of the voucher's.
CREATE INDEX voucher_redemption_version ON voucher_redemption (voucher_code, status, epoch, (sequence >> 6))
    WHERE sequence >= 0;

-- What the expiry job looks for. The rest of its order, (voucher_code, order_id), is sorted within one millisecond:
-- in the key it would cost eight times the space. "sequence >= 0" always holds: only a query that states it, and so
-- asks for all vouchers, can use this index.
CREATE INDEX voucher_redemption_due ON voucher_redemption (expires_at) WHERE status = 'RESERVED' AND sequence >= 0;

-- The overdue reservations of one voucher, whatever is overdue on the others.
CREATE INDEX voucher_redemption_overdue ON voucher_redemption (voucher_code, expires_at) WHERE status = 'RESERVED';

-- Live uses of a customer. Each grant writes the limit that it was decided under, so a change of the voucher's limit
-- touches no row here. Written under the lock of the voucher's row only: it needs no foreign key of its own.
CREATE TABLE voucher_customer (
    customer_id  bigint  NOT NULL,
    uses         integer NOT NULL,
    limit_seen   integer NOT NULL,
    voucher_code text    COLLATE "C" NOT NULL,

    CONSTRAINT voucher_customer_pkey PRIMARY KEY (voucher_code, customer_id),
    CONSTRAINT voucher_customer_customer_id_positive CHECK (customer_id >= 1),
    CONSTRAINT voucher_customer_limit_seen_range CHECK (limit_seen >= 1),
    CONSTRAINT voucher_customer_uses_within_limit CHECK (uses BETWEEN 0 AND limit_seen)
) WITH (fillfactor = 90);

-- The history: who did what, when, and what it was before and after. Each change writes its entry in its own
-- transaction. epoch and sequence are the version of a reservation, or (epoch, change number) of a voucher.
CREATE TABLE voucher_event (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    customer_id  bigint,
    epoch        bigint      NOT NULL,
    sequence     bigint      NOT NULL,
    at           timestamptz NOT NULL,
    voucher_code text        COLLATE "C" NOT NULL,
    kind         text        COLLATE "C" NOT NULL,
    order_id     text        COLLATE "C",
    actor        text        NOT NULL,
    before       jsonb,
    after        jsonb       NOT NULL,

    -- The code comes first: everybody reads the history of one voucher, in the order of its ids.
    CONSTRAINT voucher_event_pkey PRIMARY KEY (voucher_code, id),
    CONSTRAINT voucher_event_kind_known
        CHECK (kind IN ('VOUCHER_CREATED', 'VOUCHER_AMENDED', 'RESERVED', 'CONFIRMED', 'RELEASED')),
    CONSTRAINT voucher_event_subject CHECK (
        (order_id IS NOT NULL) = (kind IN ('RESERVED', 'CONFIRMED', 'RELEASED'))
        AND (customer_id IS NOT NULL) = (order_id IS NOT NULL)),
    CONSTRAINT voucher_event_before_fits_kind CHECK ((before IS NULL) = (kind IN ('VOUCHER_CREATED', 'RESERVED')))
);

-- +goose StatementBegin
CREATE FUNCTION voucher_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'voucher_event is append-only: % refused', TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'voucher_event_is_append_only', TABLE = 'voucher_event';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER voucher_event_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON voucher_event
    FOR EACH STATEMENT EXECUTE FUNCTION voucher_event_is_append_only();

-- +goose Down

DROP TABLE voucher_event;
DROP FUNCTION voucher_event_is_append_only();
DROP TABLE voucher_customer;
DROP TABLE voucher_redemption;
DROP TABLE voucher;

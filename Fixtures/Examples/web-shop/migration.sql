-- `manage.py migrate`: Django rebuilds the table to add a column, as it always does on SQLite.
PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE "new__shop_product" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "stock" integer unsigned NOT NULL CHECK ("stock" >= 0), "sku" varchar(32) NOT NULL UNIQUE, "title" varchar(200) NOT NULL, "price" decimal NOT NULL, "is_active" bool NOT NULL, "attributes" text NOT NULL CHECK ((JSON_VALID("attributes") OR "attributes" IS NULL)), "created" datetime NOT NULL, "updated" datetime NOT NULL, "category_id" bigint NOT NULL REFERENCES "shop_category" ("id") DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "new__shop_product" ("id", "sku", "title", "price", "is_active", "attributes", "created", "updated", "category_id", "stock") SELECT "id", "sku", "title", "price", "is_active", "attributes", "created", "updated", "category_id", 0 FROM "shop_product";
DROP TABLE "shop_product";
ALTER TABLE "new__shop_product" RENAME TO "shop_product";
CREATE INDEX "shop_product_category_id_14d7eea8" ON "shop_product" ("category_id");
INSERT INTO django_migrations(app, name, applied) VALUES('shop', '0002_product_stock', '2026-01-09 08:00:00.000000');
COMMIT;

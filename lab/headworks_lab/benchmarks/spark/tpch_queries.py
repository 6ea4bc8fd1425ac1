"""Ten questions of TPC-H, worded after its public specification, for `spark-submit`: they know nothing of Headworks.

spark-submit tpch_queries.py TIMES FOLDER

The folder has a Parquet file for each table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

REVENUE = "sum(l_extendedprice * (1 - l_discount))"
QUERIES = {
    "q1": f"""
        select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), {REVENUE} as revenue, count(*)
        from lineitem where l_shipdate <= date'1998-09-02' group by 1, 2 order by 1, 2""",
    "q3": f"""
        select l_orderkey, {REVENUE} as revenue, o_orderdate, o_shippriority
        from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
        where c_mktsegment = 'BUILDING' and o_orderdate < date'1995-03-15' and l_shipdate > date'1995-03-15'
        group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10""",
    "q4": """
        select o_orderpriority, count(*) from orders
        where o_orderdate >= date'1993-07-01' and o_orderdate < date'1993-10-01'
        and exists (select 1 from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
        group by o_orderpriority order by o_orderpriority""",
    "q5": f"""
        select n_name, {REVENUE} as revenue
        from region join nation on n_regionkey = r_regionkey join supplier on s_nationkey = n_nationkey
        join customer on c_nationkey = n_nationkey join orders on o_custkey = c_custkey
        join lineitem on l_orderkey = o_orderkey and l_suppkey = s_suppkey
        where r_name = 'ASIA' and o_orderdate >= date'1994-01-01' and o_orderdate < date'1995-01-01'
        group by n_name order by revenue desc""",
    "q6": """
        select sum(l_extendedprice * l_discount) as revenue from lineitem
        where l_shipdate >= date'1994-01-01' and l_shipdate < date'1995-01-01'
        and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    "q10": f"""
        select c_custkey, c_name, {REVENUE} as revenue, c_acctbal, n_name
        from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
        join nation on n_nationkey = c_nationkey
        where o_orderdate >= date'1993-10-01' and o_orderdate < date'1994-01-01' and l_returnflag = 'R'
        group by c_custkey, c_name, c_acctbal, n_name order by revenue desc limit 20""",
    "q12": """
        select l_shipmode, count_if(o_orderpriority in ('1-URGENT', '2-HIGH')) as high, count(*) as lines
        from orders join lineitem on l_orderkey = o_orderkey
        where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
        and l_receiptdate >= date'1994-01-01' and l_receiptdate < date'1995-01-01'
        group by l_shipmode order by l_shipmode""",
    "q14": """
        select 100 * sum(if(p_type like 'PROMO%', l_extendedprice * (1 - l_discount), 0))
        / sum(l_extendedprice * (1 - l_discount)) as share
        from lineitem join part on p_partkey = l_partkey
        where l_shipdate >= date'1995-09-01' and l_shipdate < date'1995-10-01'""",
    "q18": """
        with large as (select l_orderkey as large_key from lineitem group by l_orderkey having sum(l_quantity) > 300)
        select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        from large join orders on o_orderkey = large_key join customer on c_custkey = o_custkey
        join lineitem on l_orderkey = o_orderkey
        group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        order by o_totalprice desc, o_orderdate limit 100""",
    "q22": """
        with able as (select c_custkey, c_acctbal, substr(c_phone, 1, 2) as code from customer
        where substr(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
        select code, count(*), sum(c_acctbal) from able
        where c_acctbal > (select avg(c_acctbal) from able where c_acctbal > 0)
        and not exists (select 1 from orders where o_custkey = c_custkey) group by code order by code""",
}


def main(times: int, folder: Path) -> None:
    """Ask all of them, some times over, with a line for each answer: its first row and how many there are."""
    spark = SparkSession.builder.getOrCreate()
    for table in folder.glob("*.parquet"):
        spark.read.parquet(str(table)).createOrReplaceTempView(table.stem)
    for _ in range(times):
        for name, query in QUERIES.items():
            spark.sparkContext.setJobGroup(name, name)
            rows = spark.sql(query).collect()
            print(name, len(rows), rows[:1], flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

// SPDX-License-Identifier: Apache-2.0
#include "network_data.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

TEST_F(Data, IsReadBackAsItWasWritten) {
  const std::string of = "--problem network --iterations 1 --months 2 --orders 120 ";
  EXPECT_EQ(field(run_program(ANT_COLONY, of + "--data " + folder.string(), "").output, "solution"),
            field(run_program(ANT_COLONY, of, "").output, "solution"));
}

TEST_F(Data, TakesTheFormThatSpreadsheetsExport) {
  const std::string of = "--problem network --iterations 1 --months 2 --data " + folder.string();
  const std::string before = field(run_program(ANT_COLONY, of, "").output, "solution");
  change("WhCapacities.csv", "Plant ID,Daily Capacity", "\xEF\xBB\xBFPlant ID,Daily Capacity ");
  change("FreightRates.csv", ",minimum cost,rate,", ",\"Minimum  Cost\",rate,");
  change("FreightRates.csv", ",AIR,", ",AIR   ,");
  const std::string first = line("WhCosts.csv", 2);
  change("WhCosts.csv", first, first.substr(0, 8) + "\"$" + first.substr(8) + " \"");
  EXPECT_EQ(field(run_program(ANT_COLONY, of, "").output, "solution"), before);
}

TEST_F(Data, BadRowsAreNamedInOneLine) {
  change("OrderList.csv", ",Weight\n", ",Wieght\n");
  refuses("OrderList.csv:1: no column 'Weight'; name it in the first line");
  SetUp();
  const std::string row = line("OrderList.csv", 5);
  const std::string weight = row.substr(row.rfind(',') + 1);
  change("OrderList.csv", row, row.substr(0, row.rfind(',') + 1) + "-" + weight);
  refuses("OrderList.csv:5: Weight -" + weight + " is negative; correct it");
  SetUp();
  change("OrderList.csv", line("OrderList.csv", 4), line("OrderList.csv", 3));
  refuses("OrderList.csv:4: order 1447000001.7 is there twice, first in line 3; remove one");
  SetUp();
  const std::string rate = line("FreightRates.csv", 2);
  change("FreightRates.csv", rate, "V444_0,PORT01,PORT09,10,DTD,2,,AIR,1");
  refuses("FreightRates.csv:2: no rate; fill the cell, or remove the line");
  SetUp();
  std::filesystem::remove(folder / "PlantPorts.csv");
  refuses("PlantPorts.csv: No such file or directory; give a readable CSV file");
}

TEST_F(Data, WhatWouldBeIgnoredIsRefused) {
  refuses("--months 13, and the orders are of 12; give at most that", "--months 13");
  refuses("--instance means nothing to --problem network; leave it out, or give --problem tsp",
          "--instance x.tsp");
  const Finished run = run_program(ANT_COLONY, "--instance x.tsp --months 3", "");
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.output.find("--months means nothing to --problem tsp"), std::string::npos) << run.output;
}

TEST_F(Data, ANumberIsReadAsItWasMeantOrNotAtAll) {
  const std::string row = line("WhCosts.csv", 2), name = row.substr(0, row.find(','));
  for (const std::string number :
       {"\"0,42\"", "\"0,420\"", "\"12345,678\"", "\"1.234,5\"", "\"12,34,567\"", "\",100\""}) {
    SetUp();
    change("WhCosts.csv", row, name + "," + number);
    refuses("has a comma that is not between thousands; write decimals behind a point");
  }
  SetUp();
  const std::string capacity = line("WhCapacities.csv", 2);
  change("WhCapacities.csv", capacity, capacity + ".9");
  refuses(".9 is not a whole number; correct it");
  SetUp();
  change("WhCosts.csv", row, name + ",1,234.5");
  refuses("WhCosts.csv:2: more cells than the first line has; quote a cell that has a comma in it");
  SetUp();
  change("WhCosts.csv", row, name + ",0.");
  refuses("WhCosts.csv:2: Cost/unit '0.' ends at its point; see whether the file was cut");
  for (const std::string date :
       {"32 Foo 2013", "15-01-2013", "20130115", "2013", "0", "2013-02-31", "20135-01-26", "2013-01-261",
        "13/1/2013", "1/15/3", "2013-01-15 xyz", "2013-01-15 12", "2013-01-15 :", "2013-01-15T"}) {
    SetUp();
    change("OrderList.csv", "2013-01-15", date);
    refuses("OrderList.csv:2: Order Date is not a date; write it as 2013-05-26");
  }
  SetUp();
  change("OrderList.csv", "Customer,Product ID", "Weight,Product ID");
  refuses("OrderList.csv:1: no column 'Customer'");
  SetUp();
  change("OrderList.csv", "Unit quantity,Weight", "Unit quantity,Weight,Weight");
  refuses("OrderList.csv:1: two columns are 'Weight'; rename one");
  SetUp();
  std::ofstream(folder / "PlantPorts.csv") << std::string("P\0l\0", 4);
  refuses("PlantPorts.csv: is not text in UTF-8; export it as CSV in UTF-8");
}

/// The same plan from dates in three notations; two months of them.
TEST_F(Data, DatesAreReadAsSpreadsheetsWriteThem) {
  const std::string of = "--problem network --iterations 1 --months 12 --data " + folder.string();
  const std::string before = field(run_program(ANT_COLONY, of, "").output, "solution");
  change("OrderList.csv", "2013-01-15", "1/15/13");
  change("OrderList.csv", "2013-03-15", "2013-03-15 00:00:00");
  change("OrderList.csv", "2013-04-15", "2013-04-15T09:30:00.000+01:00");
  change("OrderList.csv", "2013-05-15", "5/15/13 9:30 AM");
  change("OrderList.csv", "2013-02-15", "41320");
  EXPECT_EQ(field(run_program(ANT_COLONY, of, "").output, "solution"), before);
}

/// Tables of two seeds fit together and are nobody's.
TEST_F(Data, WhatATableHoldsIsShownEscaped) {
  change("FreightRates.csv", ",AIR,", ",A\x1b[2J\xc2\x9bR,");
  refuses("mode_dsc 'A\\x1b[2J\\xc2\\x9bR' is unknown; write AIR or GROUND");
}

TEST_F(Data, CellsThatNoCommaSeparatesAreSaid) {
  std::ofstream(folder / "PlantPorts.csv") << "Plant Code;Port\nPLANT01;PORT01\n";
  refuses("PlantPorts.csv:1: no column 'Plant Code'; separate the cells by commas");
}

TEST_F(Data, AnOrderThatNobodyCanServeIsNamed) {
  std::string row = line("OrderList.csv", 3);
  const std::size_t product = row.find(",16");
  change("OrderList.csv", row, row.substr(0, product) + ",99" + row.substr(product + 3));
  refuses("OrderList.csv:3: order 1447000001.7: no warehouse holds product 99");
  SetUp();
  std::ofstream(folder / "FreightRates.csv")
      << "Carrier,orig_port_cd,dest_port_cd,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,tpt_day_cnt\n"
         "V,PORT01,ELSEWHERE,10,DTD,2,2,AIR,1\n";
  refuses("no warehouse that holds it has capacity and a lane with a rate to PORT09 for its weight");
}

TEST_F(Data, TooManyOrdersAreSaidWithTheShortfall) {
  std::ofstream few(folder / "WhCapacities.csv");
  few << "Plant ID,Daily Capacity\n";
  for (int w = 1; w <= 19; ++w) few << (w < 10 ? "PLANT0" : "PLANT") << w << "," << (w < 5 ? 1 : 0) << "\n";
  few.close();
  std::ofstream orders(folder / "OrderList.csv");
  orders << "Order ID,Order Date,Service Level,Customer,Product ID,Destination Port,Unit quantity,Weight\n";
  std::ofstream products(folder / "ProductsPerPlant.csv");
  products << "Plant Code,Product ID\n";
  for (int w = 1; w < 5; ++w) products << "PLANT0" << w << ",P\n";
  for (int k = 0; k < 14; ++k) orders << k << ",2013-0" << k / 7 + 1 << "-01,CRF,C,P,PORT09,1,1\n";
  orders.close(), products.close();
  refuses(
      "month 1 (order 0 and on): 3 of 7 orders find no place in the warehouses that may serve them; raise "
      "the "
      "capacities in WhCapacities.csv by 3 at least");
}

/// The ten orders of a month weigh some 200 kg together, and the only lane takes 150.
TEST_F(Data, AMonthThatFindsNoRoomOnTheLanesIsSaidAndNothingIsWritten) {
  std::ofstream rates(folder / "FreightRates.csv");
  rates << "Carrier,orig_port_cd,dest_port_cd,max_wgh_qty,svc_cd,minimum cost,rate,mode_dsc,tpt_day_cnt\n";
  rates << "V,PORT01,PORT09,150,DTD,2,2,AIR,1\n";
  rates.close();
  std::ofstream ports(folder / "PlantPorts.csv");
  ports << "Plant Code,Port\n";
  for (int w = 1; w <= 19; ++w) ports << (w < 10 ? "PLANT0" : "PLANT") << w << ",PORT01\n";
  ports.close();
  const auto plan = folder / "plan.csv";
  std::ofstream(plan) << "old";
  for (const std::string parallel : {"openmp", "corescale"})
    refuses(
        "no ant found room for all its orders on the lanes; raise the largest weights in FreightRates.csv",
        "--months 12 --parallel " + parallel + " --solution " + plan.string());
  std::ifstream in(plan);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old");
}

TEST_F(Data, NamesWithCommasAndQuotesAreOneCellOfThePlan) {
  change("OrderList.csv", "1447000000.7", "\"1447,\"\"0\"");
  const auto plan = folder / "plan.csv";
  ASSERT_EQ(run_program(ANT_COLONY,
                        "--problem network --iterations 1 --months 1 --data " + folder.string() +
                            " --solution " + plan.string(),
                        "OMP_NUM_THREADS=1")
                .status,
            0);
  std::ifstream in(plan);
  std::string row;
  std::getline(in, row), std::getline(in, row);
  EXPECT_EQ(row.rfind("1,\"1447,\"\"0\",PLANT", 0), 0U) << row;
}

/// What a dollar is decides nothing: neither small nor large worths make the bound's search endless.
TEST_F(Data, TheBoundIsFoundWhateverADollarIs) {
  const std::string of = "--problem network --iterations 1 --months 1 --orders 1200 ";
  const double one = std::stod(field(run_program(ANT_COLONY, of, "").output, "bound"));
  for (const std::string worth : {"0.001", "100000000"}) {
    const Finished run = run_program(ANT_COLONY, of + "--goal cost=" + worth, "");
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_NEAR(std::stod(field(run.output, "bound")) / std::stod(worth) / one, 1, 1e-6) << worth;
  }
}

}  // namespace
